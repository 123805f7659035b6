// Keys leave no trace: whatever rooms one passed through, no copy is left when its holders are gone.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/encoding.hpp"
#include "certs/certificate_set.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "kube/fake_api.hpp"
#include "plugins/keys.hpp"

namespace {

using namespace cotrain;

// A piece of a secret, kept so that it is not found itself.
struct trace {
    std::vector<unsigned char> masked;
    static constexpr unsigned char mask = 0x5A;

    explicit trace(std::string_view text) {
        for (const char c : text) masked.push_back(static_cast<unsigned char>(c) ^ mask);
    }
    [[nodiscard]] bool at(const unsigned char* p) const {
        for (std::size_t i = 0; i < masked.size(); ++i)
            if ((p[i] ^ mask) != masked[i]) return false;
        return true;
    }
};

constexpr std::size_t trace_bytes = 32;  // of a key's text, from its middle

std::string_view middle(std::string_view text) { return text.substr(text.size() / 2, trace_bytes); }

// How often one of them is in memory that can be written, but for the stack: what is there the next calls overwrite.
std::size_t count(const std::vector<trace>& all) {
    std::ifstream maps("/proc/self/maps");
    std::size_t found = 0;
    for (std::string line; std::getline(maps, line);) {
        std::uintptr_t from = 0;
        std::uintptr_t to = 0;
        char rights[5] = {};
        if (std::sscanf(line.c_str(), "%lx-%lx %4s", &from, &to, rights) != 3 || std::string_view(rights, 2) != "rw" ||
            line.ends_with("[stack]"))
            continue;
        const auto* const begin = reinterpret_cast<const unsigned char*>(from);
        for (const unsigned char* p = begin; p + trace_bytes <= reinterpret_cast<const unsigned char*>(to); ++p)
            for (const trace& each : all)
                if (each.at(p)) ++found;
    }
    return found;
}

// As PEM, and as a Secret's data has it.
void note(std::vector<trace>& all, std::string_view pem) {
    all.emplace_back(middle(pem));
    const std::string encoded = base::encode_base64(pem);
    all.emplace_back(middle(encoded));
}

constexpr kube::resource secrets{"", "v1", "secrets", "Secret"};

awaitable<void> store(kube::client* api, std::string body) {
    EXPECT_TRUE(co_await api->create(secrets, "ns", body));
    EXPECT_TRUE(co_await api->apply(secrets, {.ns = "ns", .name = "cert"}, std::move(body), true,
                                    {.field_manager = "trainer"}));
    const auto back = co_await api->get(secrets, {.ns = "ns", .name = "cert"});
    EXPECT_TRUE(back);
    if (!back) co_return;
    const auto set = certs::read_secret(back->body);
    EXPECT_TRUE(set && !set->tls_key.empty());
}

// A server that gives back what it was given.
struct vault {
    std::string body;
    kube::fake_api api{[this](kube::fake_api&, net::incoming in) { return answer(std::move(in)); }};
    awaitable<void> answer(net::incoming in) {
        if (!in.body().empty()) body = in.body();
        in.respond(200, {}, body);
        co_return;
    }
};

TEST(keys, are_found_while_they_are_held) {
    std::vector<trace> all;
    const auto pair = plugins::make_ssh_key(plugins::system_bytes());
    ASSERT_TRUE(pair);
    note(all, pair->private_pem);
    EXPECT_GE(count(all), 1U);
}

TEST(keys, leave_no_trace_when_they_were_made_stored_and_read) {
    std::vector<trace> all;
    {
        const auto pair = plugins::make_ssh_key(plugins::system_bytes());
        ASSERT_TRUE(pair);
        note(all, pair->private_pem);
        const auto set = certs::renew({}, certs::standing::renew_all, {.hosts = {"svc"}},
                                      std::chrono::sys_seconds(std::chrono::seconds(2'000'000'000)));
        ASSERT_TRUE(set);
        note(all, set->ca_key);
        note(all, set->tls_key);
        certs::certificate_set both = *set;
        both.ca_key += pair->private_pem;
        auto body = certs::write_secret("", "ns", "cert", both);
        ASSERT_TRUE(body);
        vault there;
        there.api.run([&body](kube::fake_api&, kube::client& c) { return store(&c, std::move(*body)); });
    }
    EXPECT_EQ(count(all), 0U);
}

}  // namespace
