// Webhooks that answer only whom an authority has named: others do not get through the handshake.
#include "certs/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "net/client.hpp"
#include "net/server.hpp"
#include "support/certificates.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::certs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view server_name = "webhook.test";

awaitable<void> respond(int* asked, net::incoming in) {
    ++*asked;
    in.respond(200, {}, "reviewed");
    co_return;
}

class client_authorities_ : public testing::Test {
   public:
    client_authorities_() {
        place_.write("ca.crt", clients_.pem());
        const auto shown = servers_.issue({.common_name = "s", .names = {std::string(server_name)}});
        EXPECT_TRUE(serving_.use(shown.certificate_pem, shown.key_pem));
    }
    // The status of a request by a client with that certificate; 0 if it was not answered.
    awaitable<int> ask(test::certificate who) {
        const auto keys = net::tls::context::for_client(
            {.ca_pem = servers_.pem(), .certificate_pem = who.certificate_pem, .key_pem = who.key_pem});
        EXPECT_TRUE(keys) << (keys ? "" : keys.error().message);
        if (!keys) co_return -1;
        net::client_options with;
        with.peer = {"127.0.0.1", server_->port()};
        with.server_name = server_name;
        with.tls = *keys;
        net::client client(loop_.get_executor(), std::move(with), base::null_logger());
        net::request what{.method = "POST", .path = "/", .body = "{}"};
        what.deadline = std::chrono::seconds(1);
        const auto answer = co_await client.send(std::move(what));
        co_await client.stop();
        co_return answer ? answer->status : 0;
    }
    void run(awaitable<void> (*body)(client_authorities_&)) { test::run(loop_, around(body)); }
    awaitable<void> around(awaitable<void> (*body)(client_authorities_&)) {
        EXPECT_TRUE(authorities_.start());
        net::server_options options;
        options.tls = [this] { return serving_.demanding_context(); };
        server_ = std::make_unique<net::server>(
            loop_.get_executor(), options, [this](net::incoming in) { return respond(&asked_, std::move(in)); },
            base::null_logger());
        EXPECT_TRUE(server_->start());
        co_await body(*this);
        co_await server_->stop();
        co_await authorities_.stop();
    }
    static test::certificate named(const test::authority& by, bool for_client = true) {
        return by.issue({.common_name = "kube-apiserver", .for_client = for_client});
    }

    test::temp_dir place_;
    test::authority servers_{"servers"};
    test::authority clients_{"clients"};
    test::authority others_{"others"};
    asio::io_context loop_{1};
    served_certificate serving_{{}};
    client_authorities authorities_{loop_.get_executor(), serving_, place_.path("ca.crt"), base::null_logger(),
                                    std::chrono::milliseconds(5)};
    std::unique_ptr<net::server> server_;
    int asked_ = 0;
};

awaitable<void> strangers(client_authorities_& t) {
    EXPECT_EQ(co_await t.ask(t.named(t.clients_)), 200);
    EXPECT_EQ(t.asked_, 1);
    EXPECT_EQ(co_await t.ask({}), 0) << "no certificate";
    EXPECT_EQ(co_await t.ask(t.named(t.others_)), 0) << "of somebody else";
    EXPECT_EQ(co_await t.ask(t.named(t.clients_, false)), 0) << "made for a server";
    EXPECT_EQ(co_await t.ask(t.named(t.servers_)), 0) << "of the authority of our own certificate";
    EXPECT_EQ(t.asked_, 1) << "nothing of what they sent was looked at";
}
TEST_F(client_authorities_, strangers_do_not_get_through_the_handshake) { run(strangers); }

awaitable<void> rotation(client_authorities_& t) {
    t.place_.write("ca.crt", t.others_.pem());
    asio::steady_timer timer(t.loop_);
    const auto before = t.serving_.demanding_context();
    while (t.serving_.demanding_context() == before) {
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(use_tuple);
    }
    EXPECT_EQ(co_await t.ask(t.named(t.others_)), 200);
    EXPECT_EQ(co_await t.ask(t.named(t.clients_)), 0);
    // A file that is damaged leaves what is in use, as does one that is gone.
    t.place_.write("ca.crt", "nonsense");
    EXPECT_FALSE(t.authorities_.look());
    EXPECT_EQ(co_await t.ask(t.named(t.others_)), 200);
    EXPECT_EQ(co_await t.ask({}), 0);
    // A new certificate of our own changes nothing of whom we ask.
    const auto shown = t.servers_.issue({.common_name = "t", .names = {std::string(server_name)}});
    EXPECT_TRUE(t.serving_.use(shown.certificate_pem, shown.key_pem));
    EXPECT_EQ(co_await t.ask(t.named(t.others_)), 200);
    EXPECT_EQ(co_await t.ask({}), 0);
}
TEST_F(client_authorities_, may_change_while_they_are_in_use) { run(rotation); }

TEST(client_authorities, nobody_is_served_without_them) {
    asio::io_context loop{1};
    served_certificate serving{{}};
    const test::temp_dir place;
    client_authorities none(loop.get_executor(), serving, place.path("none"), base::null_logger());
    EXPECT_THAT(none.start().error().message, HasSubstr(place.path("none")));
    EXPECT_EQ(serving.demanding_context(), nullptr);
    place.write("bad", "nonsense");
    client_authorities bad(loop.get_executor(), serving, place.path("bad"), base::null_logger());
    EXPECT_THAT(bad.start().error().message, StartsWith(place.path("bad") + ": client certificate authority"));
    const test::authority ca;
    const auto shown = ca.issue({.common_name = "s", .names = {"s"}});
    ASSERT_TRUE(serving.use(shown.certificate_pem, shown.key_pem));
    EXPECT_EQ(serving.demanding_context(), nullptr) << "a server without a context answers nobody";
    EXPECT_NE(serving.context(), nullptr);
}

}  // namespace
}  // namespace cotrain::certs
