// What stands in the place of envtest's programs, and what a test's API server begins with.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "base/read_file.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "doc/yaml_places.hpp"
#include "net/server.hpp"
#include "playground/apiserver.hpp"
#include "playground/private_file.hpp"
#include "sim/definition.hpp"

namespace cotrain::playground {

namespace {

base::seconds_time wall() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

base::result<> make(sim::cluster& to, std::string_view group, std::string_view plural, std::string ns,
                    std::string_view text) {
    doc::arena memory;
    const auto read = doc::parse_json(memory, text);
    if (!read) return base::fail(read.error());
    const auto made =
        to.create({to.types().find(group, "v1", plural), std::move(ns)}, *read, {.manager = "kube-apiserver"}, wall());
    if (!made) return base::fail(base::errc::internal, made.error().message);
    return {};
}

bool is_definition(doc::ref document) {
    return document.get("kind").as_string() == "CustomResourceDefinition" &&
           document.get("apiVersion").as_string().starts_with("apiextensions.k8s.io/");
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(path, ignored)) return {path};
    std::vector<std::filesystem::path> out;
    for (const auto& each : std::filesystem::directory_iterator(path, ignored)) {
        const std::string ending = each.path().extension().string();
        if (ending == ".yaml" || ending == ".yml" || ending == ".json") out.push_back(each.path());
    }
    std::ranges::sort(out);
    return out;
}

// "trainjobs.trainer.kubeflow.org/v1alpha1: not judged: 3 rules, 1 pattern".
void tell_unjudged(const sim::kind& of, bool every_one, std::vector<std::string>& out) {
    if (of.unjudged.empty()) return;
    const std::string name = of.resource() + "/" + of.version;
    const auto rules =
        std::ranges::count_if(of.unjudged, [](const std::string& each) { return each.contains(": rule "); });
    const auto others = static_cast<std::ptrdiff_t>(of.unjudged.size()) - rules;
    out.push_back(fmt::format("{}: not judged: {} CEL rules, {} other constraints", name, rules, others));
    for (const std::string& each : of.unjudged) {
        if (every_one) out.push_back("  " + each);
    }
}

base::result<int> load_file(sim::cluster& to, const std::string& path, bool every_one,
                            std::vector<std::string>& unjudged) {
    const auto text = base::read_file(path, definitions_bytes_max);
    if (!text) return base::fail(text.error());
    doc::arena memory;
    const auto documents = doc::parse_yaml_stream(memory, *text);
    if (!documents) return base::fail(base::errc::invalid, fmt::format("{}: {}", path, documents.error().message));
    int found = 0;
    for (const doc::yaml_document& each : *documents) {
        if (!is_definition(each.value)) continue;
        ++found;
        const auto at = [&](std::string_view field) {
            const doc::text_place place = doc::yaml_places(*text).find(each.line, field);
            return fmt::format("{}:{}", path, place.line == 0 ? each.line : place.line);
        };
        if (each.value.get("apiVersion").as_string() != "apiextensions.k8s.io/v1")
            return base::fail(base::errc::invalid,
                              fmt::format("{}: apiVersion: must be apiextensions.k8s.io/v1", at("apiVersion")));
        if (const auto fault = sim::find_fault(each.value, true))
            return base::fail(base::errc::invalid, fmt::format("{}: {}", at(fault->path), crd::to_string(*fault)));
        const sim::kind* const definitions = to.types().find("apiextensions.k8s.io", "v1", "customresourcedefinitions");
        const auto made = to.create({definitions}, each.value, {.manager = "cotrain"}, wall());
        if (!made) return base::fail(base::errc::invalid, fmt::format("{}: {}", at("metadata"), made.error().message));
        const doc::ref spec = each.value.get("spec");
        for (const auto& type : to.types().all()) {
            if (type->group == spec.get("group").as_string() &&
                type->plural == spec.get({"names", "plural"}).as_string())
                tell_unjudged(*type, every_one, unjudged);
        }
    }
    return found;
}

struct address {
    std::string host = "127.0.0.1";
    std::uint16_t port = 2379;
};

// "http://127.0.0.1:2379", the first of several.
address read_url(std::string_view text) {
    address out;
    text = text.substr(0, text.find(','));
    if (const std::size_t scheme = text.find("://"); scheme != std::string_view::npos) text.remove_prefix(scheme + 3);
    const std::size_t colon = text.rfind(':');
    if (colon == std::string_view::npos) return out;
    std::from_chars(text.data() + colon + 1, text.data() + text.size(), out.port);
    out.host = text.substr(0, colon);
    if (out.host.starts_with('[')) out.host = out.host.substr(1, out.host.size() - 2);
    return out;
}

awaitable<void> answer_health(net::incoming in) {
    const bool health = in.head().path.starts_with("/health");
    in.respond(health ? 200 : 404, {{"content-type", "application/json"}}, health ? R"({"health":"true"})" : "{}");
    co_return;
}

awaitable<void> be_healthy(asio::io_context* loop, address at, int* code) {
    net::server_options options;
    options.address = at.host;
    options.port = at.port;
    options.plain_http1 = true;
    net::server server(loop->get_executor(), std::move(options), answer_health, base::null_logger());
    if (const auto up = server.start(); !up) {
        std::fputs(fmt::format("etcd: {}\n", up.error().message).c_str(), stderr);
        co_return;
    }
    asio::signal_set signals(*loop);
    add_ending_signals(signals);
    co_await signals.async_wait(use_tuple);
    server.drop_connections();
    co_await server.stop();
    *code = 0;
}

// For `sh`, between single quotes.
std::string in_quotes(std::string_view text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return out + "'";
}

// The first program of that name in PATH; empty if there is none.
std::filesystem::path find_program(std::string_view name) {
    const char* const value = std::getenv("PATH");
    std::string_view rest = value != nullptr ? value : "";
    while (!rest.empty()) {
        const std::string_view directory = rest.substr(0, rest.find(':'));
        rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
        std::error_code ignored;
        std::filesystem::path out = std::filesystem::path(directory) / name;
        if (std::filesystem::is_regular_file(out, ignored)) return out;
    }
    return {};
}

}  // namespace

base::result<> add_first_objects(sim::cluster& to, bool controllers) {
    for (const char* name : {"default", "kube-node-lease", "kube-public", "kube-system"}) {
        const std::string text = fmt::format(R"({{"metadata":{{"name":"{}"}}}})", name);
        if (auto done = make(to, "", "namespaces", "", text); !done) return done;
        if (!controllers) continue;
        if (auto done = make(to, "", "serviceaccounts", name, R"({"metadata":{"name":"default"}})"); !done) return done;
    }
    for (const auto& [name, value] :
         {std::pair{"system-node-critical", 2'000'001'000}, std::pair{"system-cluster-critical", 2'000'000'000}}) {
        const std::string text = fmt::format(R"({{"metadata":{{"name":"{}"}},"value":{}}})", name, value);
        if (auto done = make(to, "scheduling.k8s.io", "priorityclasses", "", text); !done) return done;
    }
    return make(to, "", "services", "default",
                R"({"metadata":{"name":"kubernetes","labels":{"component":"apiserver","provider":"kubernetes"}},)"
                R"("spec":{"clusterIP":"10.0.0.1","ports":[{"name":"https","port":443,"targetPort":6443}]}})");
}

base::result<> load_definitions(sim::cluster& to, const std::string& path, bool every_one,
                                std::vector<std::string>& unjudged) {
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored)) return base::fail(base::errc::invalid, path + " is not there");
    int found = 0;
    for (const std::filesystem::path& each : files_of(path)) {
        const auto some = load_file(to, each.string(), every_one, unjudged);
        if (!some) return base::fail(some.error());
        found += *some;
    }
    if (found > 0) return {};
    return base::fail(base::errc::invalid, path + " has no CustomResourceDefinition");
}

base::result<> write_envtest(const std::string& directory) {
    namespace fs = std::filesystem;
    std::error_code error;
    fs::create_directories(directory, error);
    const fs::path program = fs::read_symlink("/proc/self/exe", error);
    if (error) return base::fail(base::errc::invalid, fmt::format("{}: {}", directory, error.message()));
    for (const char* name : {"kube-apiserver", "etcd"}) {
        const fs::path path = fs::path(directory) / name;
        const std::string text =
            fmt::format("#!/bin/sh\nexec {} apiserver --as {} \"$@\"\n", in_quotes(program.string()), name);
        if (auto done = write_private_file(path.string(), text); !done) return done;
        fs::permissions(path, fs::perms{0755}, error);
        if (error) return base::fail(base::errc::invalid, "cannot write " + path.string());
    }
    // Suites that call kubectl get the one that is there.
    const fs::path link = fs::path(directory) / "kubectl";
    if (const fs::path kubectl = find_program("kubectl"); !kubectl.empty() && !fs::exists(link, error))
        fs::create_symlink(kubectl, link, error);
    return {};
}

int run_etcd(app::arguments words) {
    address at;
    for (std::size_t i = 0; i < words.size(); ++i) {
        constexpr std::string_view name = "--listen-client-urls";
        if (!words[i].starts_with(name)) continue;
        if (words[i].size() > name.size()) at = read_url(words[i].substr(name.size() + 1));
        if (words[i].size() == name.size() && i + 1 < words.size()) at = read_url(words[i + 1]);
    }
    if (app::asks_for_help(words)) {
        std::puts(
            "cotrain in the place of etcd, for envtest: it is healthy at --listen-client-urls, and keeps nothing.");
        return 0;
    }
    asio::io_context loop(1);
    int code = 1;
    asio::co_spawn(loop, be_healthy(&loop, std::move(at), &code), asio::detached);
    loop.run();
    return code;
}

}  // namespace cotrain::playground
