// The playground's page: its files, its stream of states, whom it answers, and what the states say.
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "api/json.hpp"
#include "app/page_server.hpp"
#include "app/page_texts.hpp"
#include "app/playground_view.hpp"
#include "support/run.hpp"

namespace cotrain {
namespace {

using asio::ip::tcp;

struct browser {
    explicit browser(asio::io_context& loop) : socket(loop) {}
    tcp::socket socket;
    std::string unread;

    awaitable<void> ask(std::uint16_t port, std::string path, std::string host = "127.0.0.1") {
        co_await socket.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
        const std::string request = "GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
        co_await asio::async_write(socket, asio::buffer(request), asio::use_awaitable);
    }
    // All up to and with the text.
    awaitable<std::string> until(std::string text) {
        const std::size_t n =
            co_await asio::async_read_until(socket, asio::dynamic_buffer(unread), text, asio::use_awaitable);
        std::string out = unread.substr(0, n);
        unread.erase(0, n);
        co_return out;
    }
};

struct scene {
    asio::io_context loop{1};
    std::string state = R"({"jobs":[]})";
    app::page_server page{loop, "127.0.0.1", 0, [this] { return state; }, base::null_logger()};
};

awaitable<std::string> head_of(scene* s, std::string path, std::string host) {
    browser it(s->loop);
    co_await it.ask(s->page.port(), std::move(path), std::move(host));
    co_return co_await it.until("\r\n\r\n");
}

awaitable<void> read_files(scene* s) {
    EXPECT_TRUE(s->page.start());
    const std::string html = co_await head_of(s, "/", "localhost:1");
    EXPECT_TRUE(html.starts_with("HTTP/1.1 200")) << html;
    EXPECT_NE(html.find("default-src 'none'"), std::string::npos) << html;
    EXPECT_TRUE((co_await head_of(s, "/page.js", "127.0.0.1")).starts_with("HTTP/1.1 200"));
    EXPECT_TRUE((co_await head_of(s, "/?from=a-forwarded-port", "127.0.0.1")).starts_with("HTTP/1.1 200"));
    EXPECT_TRUE((co_await head_of(s, "/page.css", "127.0.0.1")).starts_with("HTTP/1.1 200"));
    EXPECT_TRUE((co_await head_of(s, "/etc/passwd", "127.0.0.1")).starts_with("HTTP/1.1 404"));
    EXPECT_TRUE((co_await head_of(s, "/", "evil.example.com")).starts_with("HTTP/1.1 403"))
        << "a name that leads here from elsewhere";
    co_await s->page.stop();
}

TEST(page, serves_its_files_to_this_machine) {
    scene s;
    test::run(s.loop, read_files(&s));
}

TEST(page, loads_nothing_from_elsewhere_and_writes_no_markup) {
    for (const std::string_view text : {app::page::html, app::page::script, app::page::style}) {
        ASSERT_FALSE(text.empty());
        for (const char* never : {"://", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(",
                                  "@import", "url(", "style=", "onclick"})
            EXPECT_FALSE(text.contains(never)) << never;
    }
}

awaitable<void> read_states(scene* s) {
    EXPECT_TRUE(s->page.start());
    browser it(s->loop);
    co_await it.ask(s->page.port(), "/state");
    EXPECT_NE((co_await it.until("\r\n\r\n")).find("text/event-stream"), std::string::npos);
    EXPECT_NE((co_await it.until("\n\n")).find(R"(data: {"jobs":[]})"), std::string::npos);
    s->state = R"({"jobs":[1]})";
    s->page.changed();
    EXPECT_NE((co_await it.until("\n\n")).find(R"(data: {"jobs":[1]})"), std::string::npos);
    co_await s->page.stop();
}

TEST(page, sends_a_state_for_each_change) {
    scene s;
    test::run(s.loop, read_states(&s));
}

constexpr api::seconds_time wall{std::chrono::seconds{1'767'312'000}};

TEST(page, states_tell_of_jobs_pods_and_latency) {
    sim::cluster all{1};
    sim::add_neighbours(all.types());
    const auto make = [&](std::string_view group, std::string_view version, std::string_view plural, std::string ns,
                          std::string_view text) {
        api::arena memory;
        const auto done = all.create({all.types().find(group, version, plural), std::move(ns)},
                                     *api::parse_json(memory, text), {}, wall);
        ASSERT_TRUE(done) << done.error().message;
    };
    make("apiextensions.k8s.io", "v1", "customresourcedefinitions", "",
         R"({"metadata":{"name":"trainjobs.trainer.kubeflow.org"},"spec":{"group":"trainer.kubeflow.org",
         "scope":"Namespaced","names":{"plural":"trainjobs","singular":"trainjob","kind":"TrainJob"},"versions":[
         {"name":"v1alpha1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object",
         "x-kubernetes-preserve-unknown-fields":true}}}]}})");
    make("", "v1", "namespaces", "", R"({"metadata":{"name":"ns"}})");
    app::playground_view view(all);
    app::playground_view::time now{};
    (void)view.follow(now);
    EXPECT_FALSE(view.follow(now)) << "nothing has happened";
    make("trainer.kubeflow.org", "v1alpha1", "trainjobs", "ns",
         R"({"metadata":{"name":"a"},"spec":{"runtimeRef":{"name":"torch"}}})");
    EXPECT_TRUE(view.follow(now));
    make("jobset.x-k8s.io", "v1alpha2", "jobsets", "ns", R"({"metadata":{"name":"a"}})");
    make("scheduling.x-k8s.io", "v1alpha1", "podgroups", "ns", R"({"metadata":{"name":"a"},"spec":{"minMember":4}})");
    make("", "v1", "pods", "ns",
         R"({"metadata":{"name":"p","labels":{"jobset.sigs.k8s.io/jobset-name":"a"}},"spec":{"containers":[]}})");
    make("events.k8s.io", "v1", "events", "ns",
         R"({"metadata":{"name":"e"},"type":"Normal","reason":"JobSetCreated","note":"made",
         "regarding":{"namespace":"ns","name":"a"}})");
    EXPECT_TRUE(view.follow(now + std::chrono::milliseconds(7)));
    api::arena memory;
    const std::string text = view.to_json();
    const api::ref job = api::parse_json(memory, text)->get("jobs").at(0);
    EXPECT_EQ(job.get("name").as_string(), "a");
    EXPECT_EQ(job.get("runtime").as_string(), "torch");
    EXPECT_EQ(job.get("latencyMs").as_double(), 7.0);
    EXPECT_EQ(job.get("pods").as_int(), 1);
    EXPECT_EQ(job.get("podsReady").as_int(), 0);
    EXPECT_EQ(job.get({"gang", "minMember"}).as_int(), 4);
    EXPECT_EQ(job.get("events").at(0).as_string(), "Normal JobSetCreated: made");
    EXPECT_EQ(text.find('\n'), std::string::npos) << "one line, as the stream needs it";
}

}  // namespace
}  // namespace cotrain
