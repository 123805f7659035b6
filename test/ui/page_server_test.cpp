// The page's server: its files, whom it answers, the feed of rows and its increments.
#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <string>

#include "doc/json.hpp"
#include "kube/client.hpp"
#include "support/run.hpp"
#include "ui/command.hpp"
#include "ui/page_files.hpp"
#include "ui/page_server.hpp"
#include "ui/watching.hpp"

namespace cotrain {
namespace {

using asio::ip::tcp;

struct browser {
    explicit browser(asio::io_context& loop) : socket(loop) {}
    tcp::socket socket;
    std::string unread;

    awaitable<void> ask(std::string url, std::string path, std::string more = "") {
        const std::size_t host = url.find("//") + 2, slash = url.find('/', host);
        const std::string authority = url.substr(host, slash - host);
        const auto port = static_cast<std::uint16_t>(std::stoi(authority.substr(authority.rfind(':') + 1)));
        co_await socket.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
        std::string request = "GET " + url.substr(slash) + path + " HTTP/1.1\r\n" + more;
        if (!more.contains("Host:")) request += "Host: " + authority + "\r\n";
        request += "\r\n";
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

// A client that has nobody to talk to.
std::unique_ptr<kube::client> nobody(asio::io_context& loop) {
    kube::cluster_config where;
    where.server = "http://127.0.0.1:1";
    where.scheme = "http";
    where.host = "127.0.0.1";
    where.port = 1;
    auto made = ui::make_client(loop, where, base::null_logger());
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
}

struct scene {
    explicit scene(std::string key = {}) : options{.key = std::move(key)} {}
    asio::io_context loop{1};
    ui::page_options options;
    std::unique_ptr<kube::client> api = nobody(loop);
    ui::reader reads{*api};
    ui::fleet rows;
    ui::page_server page{
        loop, options, rows, reads, [](ui::feed_message& out) { out.cluster = "here"; }, base::null_logger()};

    void play(awaitable<void> (*body)(scene*)) { test::run(loop, whole(body)); }
    awaitable<void> whole(awaitable<void> (*body)(scene*)) {
        EXPECT_TRUE(page.start());
        co_await body(this);
        co_await page.stop();
        co_await api->stop();
    }
};

awaitable<std::string> head_of(scene* s, std::string path, std::string more = "") {
    browser it(s->loop);
    co_await it.ask(s->page.url(), std::move(path), std::move(more));
    co_return co_await it.until("\r\n\r\n");
}

awaitable<void> read_files(scene* s) {
    for (const ui::page_file& each : ui::page_files()) {
        const std::string head = co_await head_of(s, std::string(each.name));
        EXPECT_TRUE(head.starts_with("HTTP/1.1 200")) << each.name;
        EXPECT_TRUE(head.contains("default-src 'none'; script-src 'self';")) << head;
        EXPECT_TRUE(head.contains("require-trusted-types-for 'script'")) << head;
        EXPECT_FALSE(head.contains("unsafe-")) << head;
        EXPECT_FALSE(head.contains("access-control-")) << head;
        EXPECT_TRUE(head.contains("nosniff")) << head;
    }
    EXPECT_TRUE((co_await head_of(s, "")).starts_with("HTTP/1.1 200"));
    EXPECT_TRUE((co_await head_of(s, "?from=a-forwarded-port")).starts_with("HTTP/1.1 200"));
    EXPECT_TRUE((co_await head_of(s, "../etc/passwd")).starts_with("HTTP/1.1 404"));
}

TEST(ui_page, serves_its_files_under_a_strict_policy) {
    scene s;
    s.play(read_files);
    scene keyed("0123456789abcdef");
    keyed.play(read_files);
}

awaitable<void> refuse_without_key(scene* s) {
    const std::string url = s->page.url();
    const std::string bare = url.substr(0, url.find('/', 7) + 1);
    for (const char* path : {"", "feed", "main.js", "0123456789abcde/", "api/job?ns=a&name=b"}) {
        browser it(s->loop);
        co_await it.ask(bare, path);
        EXPECT_TRUE((co_await it.until("\r\n\r\n")).starts_with("HTTP/1.1 404")) << path;
    }
}

TEST(ui_page, who_does_not_know_the_key_gets_nothing) {
    scene s("0123456789abcdef");
    s.play(refuse_without_key);
}

net::h2::head request(std::string host, net::header_list more = {}, std::string method = "GET") {
    net::h2::head out;
    out.method = std::move(method);
    out.path = "/";
    out.headers = std::move(more);
    out.headers.push_back({"host", std::move(host)});
    return out;
}

TEST(ui_page, answers_its_own_pages_on_this_machine_and_nobody_else) {
    const auto status = [](const net::h2::head& of) { return ui::judge_request(of).status; };
    for (const char* fine : {"127.0.0.1", "127.0.0.1:80", "localhost:1", "[::1]:1", "[::1]"})
        EXPECT_EQ(status(request(fine)), 0) << fine;
    for (const char* foreign : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "", "[::1].evil",
                                "[::2]", "0.0.0.0", "127.0.0.1@evil.example", "evil.example:127.0.0.1"})
        EXPECT_EQ(status(request(foreign)), 403) << foreign;
    EXPECT_EQ(status(request("localhost:1", {{"origin", "http://localhost:1"}})), 0);
    for (const char* origin : {"http://localhost:2", "https://localhost:1", "http://evil.example", "null"})
        EXPECT_EQ(status(request("localhost:1", {{"origin", origin}})), 403) << origin;
    EXPECT_EQ(status(request("localhost:1", {{"sec-fetch-site", "same-origin"}})), 0);
    for (const char* site : {"cross-site", "same-site"}) {
        EXPECT_EQ(status(request("localhost:1", {{"sec-fetch-site", site}, {"sec-fetch-mode", "no-cors"}})), 403);
        // Somebody follows a link to the page; a frame of it is none.
        EXPECT_EQ(
            status(request("localhost:1",
                           {{"sec-fetch-site", site}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "document"}})),
            0);
        EXPECT_EQ(
            status(request("localhost:1",
                           {{"sec-fetch-site", site}, {"sec-fetch-mode", "navigate"}, {"sec-fetch-dest", "iframe"}})),
            403);
    }
    for (const char* method : {"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD"})
        EXPECT_EQ(status(request("localhost:1", {}, method)), 405) << method;
}

TEST(ui_page, loads_nothing_from_elsewhere_and_writes_no_markup) {
    for (const ui::page_file& each : ui::page_files()) {
        ASSERT_FALSE(each.text.empty()) << each.name;
        for (const char* never : {"://", "innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(",
                                  "new Function", "@import", "url(", "style=", "onclick", "javascript:"})
            EXPECT_FALSE(each.text.contains(never)) << each.name << ": " << never;
    }
}

// The next message of a feed.
awaitable<doc::ref> next(browser* it, doc::arena* memory) {
    const std::string text = co_await it->until("\n\n");
    const std::size_t at = text.find("data: ");
    if (at == std::string::npos) co_return doc::ref{};
    const auto read = doc::parse_json_copy(*memory, std::string_view(text).substr(at + 6, text.size() - at - 8));
    EXPECT_TRUE(read) << text;
    co_return read ? *read : doc::ref{};
}

awaitable<void> read_feed(scene* s) {
    s->rows.put_job("ns", "a", {.id = "1"}, {});
    doc::arena memory;
    browser it(s->loop);
    co_await it.ask(s->page.url(), "feed");
    EXPECT_TRUE((co_await it.until("\r\n\r\n")).contains("text/event-stream"));
    doc::ref message = co_await next(&it, &memory);
    EXPECT_TRUE(message.get("reset").as_bool(false));
    EXPECT_EQ(message.get("cluster").as_string(), "here");
    EXPECT_EQ(message.get("rows").at(0).get("name").as_string(), "a");
    s->rows.put_job("ns", "b", {.id = "2"}, {});
    s->rows.remove(ui::fleet::part::job, "ns", "a");
    s->page.changed();
    message = co_await next(&it, &memory);
    EXPECT_FALSE(message.get("reset").as_bool(true));
    EXPECT_EQ(message.get("rows").size(), 1U) << "only what changed";
    EXPECT_EQ(message.get("rows").at(0).get("id").as_string(), "2");
    EXPECT_EQ(message.get("gone").at(0).as_string(), "1");
}

TEST(ui_page, feeds_all_rows_and_then_what_changes) {
    scene s;
    s.play(read_feed);
}

awaitable<void> read_again(scene* s) {
    s->rows.put_job("ns", "a", {.id = "1"}, {});
    std::string id;
    {
        browser it(s->loop);
        co_await it.ask(s->page.url(), "feed");
        static_cast<void>(co_await it.until("id: "));
        id = co_await it.until("\n");
        id.pop_back();
    }
    s->rows.put_job("ns", "b", {.id = "2"}, {});
    doc::arena memory;
    browser back(s->loop), stranger(s->loop);
    co_await back.ask(s->page.url(), "feed", "Last-Event-ID: " + id + "\r\n");
    const doc::ref rest = co_await next(&back, &memory);
    EXPECT_FALSE(rest.get("reset").as_bool(true));
    EXPECT_EQ(rest.get("rows").size(), 1U);
    co_await stranger.ask(s->page.url(), "feed", "Last-Event-ID: 1-1\r\n");
    const doc::ref all = co_await next(&stranger, &memory);
    EXPECT_TRUE(all.get("reset").as_bool(false)) << "of another process";
    EXPECT_EQ(all.get("rows").size(), 2U);
}

TEST(ui_page, a_page_that_comes_back_gets_what_it_missed) {
    scene s;
    s.play(read_again);
}

awaitable<void> read_many(scene* s) {
    constexpr std::size_t many = 3 * ui::feed_rows_max + 1;
    for (std::size_t i = 0; i < many; ++i)
        s->rows.put_job("ns", std::to_string(i), {.id = std::to_string(i), .created = static_cast<std::int64_t>(i)},
                        {});
    doc::arena memory;
    browser it(s->loop);
    co_await it.ask(s->page.url(), "feed");
    const doc::ref head = co_await next(&it, &memory);
    EXPECT_EQ(head.get("head").at(0).get("count").as_int(), many);
    EXPECT_EQ(head.get("rows").size(), ui::head_rows_max);
    EXPECT_EQ(head.get("rows").at(0).get("created").as_int(), many - 1) << "the newest first";
    EXPECT_FALSE(head.get("complete").as_bool(true));
    std::size_t rows = 0;
    for (bool first = true, complete = false; !complete; first = false) {
        const doc::ref message = co_await next(&it, &memory);
        EXPECT_EQ(message.get("reset").as_bool(false), first);
        EXPECT_LE(message.get("rows").size(), ui::feed_rows_max);
        rows += message.get("rows").size();
        complete = message.get("complete").as_bool(false);
    }
    EXPECT_EQ(rows, many);
}

TEST(ui_page, a_fleet_comes_in_pieces_with_a_picture_of_it_first) {
    scene s;
    s.play(read_many);
}

awaitable<void> ask_oddly(scene* s) {
    for (const char* path : {"api/job?ns=a", "api/job?ns=..&name=b", "api/job?ns=a&name=b%2Fc",
                             "api/pods?ns=a&name=b,c", "api/events?ns=&name=x", "api/job?ns=a&name=%zz",
                             "api/object?kind=secret&ns=a&name=b", "api/nothing?ns=a&name=b"})
        EXPECT_TRUE((co_await head_of(s, path)).starts_with("HTTP/1.1 400")) << path;
    EXPECT_TRUE((co_await head_of(s, "feed", "Host: evil.example\r\n")).starts_with("HTTP/1.1 403"));
}

TEST(ui_page, asks_the_cluster_for_names_of_kubernetes_only_and_never_for_a_secret) {
    scene s;
    s.play(ask_oddly);
}

TEST(ui_command, takes_only_addresses_of_this_machine) {
    ui::page_options page;
    for (const char* fine : {"127.0.0.1:8080", "localhost:8080", ":8080", "[::1]:8080"}) {
        EXPECT_TRUE(ui::read_address(fine, page)) << fine;
        EXPECT_EQ(page.port, 8080);
    }
    for (const char* wrong : {"0.0.0.0:80", "192.0.2.1:80", "[::]:80", "example.org:80", "127.0.0.1",
                              "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:70000", ""})
        EXPECT_FALSE(ui::read_address(wrong, page)) << wrong;
}

TEST(ui_command, says_what_is_wrong_with_its_options) {
    const auto error = [](std::vector<std::string_view> words) {
        const auto read = ui::read_command_options(words);
        return read ? std::string() : read.error().message;
    };
    EXPECT_EQ(error({"-n", "team-a", "--address", "127.0.0.1:0", "--kubeconfig", "/x", "--context", "c"}), "");
    EXPECT_TRUE(error({"-n", "Team A"}).starts_with("--namespace: 'Team A'"));
    EXPECT_TRUE(error({"-n", "a", "-A"}).contains("exclude each other"));
    EXPECT_TRUE(error({"--address", "0.0.0.0:80"}).starts_with("--address: 0.0.0.0 is no address of this machine"));
    EXPECT_TRUE(error({"--port", "1"}).contains("unknown option"));
}

}  // namespace
}  // namespace cotrain
