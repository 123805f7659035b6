// The server of the page: its files, the feed of rows, and what it asks for one job. Answers browsers on this machine.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/log.hpp"
#include "net/server.hpp"
#include "ui/fleet.hpp"
#include "ui/reader.hpp"
#include "ui/wire.hpp"

namespace cotrain::ui {

// Between two messages that a page is sent, those of one snapshot apart.
inline constexpr std::chrono::milliseconds feed_pause{200};
inline constexpr std::size_t feed_rows_max = 500;  // of one message
inline constexpr std::size_t head_rows_max = 50;   // of a snapshot's first message
inline constexpr std::size_t pages_max = 32;
// Reads for one job that are under way; more are refused, and the page asks again.
inline constexpr std::size_t reads_max = 8;

struct refusal {
    int status = 0;
    std::string_view why;
};
// Why a request is none of the page's own: from another host's name (DNS rebinding), another origin, not a read.
// Status 0: it is fine.
[[nodiscard]] refusal judge_request(const net::h2::head& head);

struct page_options {
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;  // 0: any free one
    std::string key{};       // the first part of every path; empty: there is none
};

class page_server {
   public:
    // `about` fills in what is the same for all rows: cluster, namespace, sources.
    page_server(asio::io_context& loop, page_options options, const fleet& rows, reader& reads,
                std::function<void(feed_message&)> about, base::logger& log);
    ~page_server();

    [[nodiscard]] base::result<> start() { return wire_.start(); }
    [[nodiscard]] std::string url() const;
    // The fleet, or how its sources stand, is another.
    void changed();
    [[nodiscard]] awaitable<void> stop();

   private:
    struct open_page;
    [[nodiscard]] awaitable<void> answer(net::incoming in);
    [[nodiscard]] awaitable<void> feed(net::incoming in);
    [[nodiscard]] awaitable<void> read(net::incoming in, std::string what, std::string query);
    [[nodiscard]] std::string next_message(open_page& page) const;

    asio::io_context& loop_;
    page_options options_;
    std::string root_;
    std::uint64_t epoch_;  // revisions of another process mean nothing here
    const fleet& rows_;
    reader& reads_;
    std::function<void(feed_message&)> about_;
    std::list<open_page*> pages_;
    std::size_t reading_ = 0;
    bool stopping_ = false;
    net::server wire_;
};

}  // namespace cotrain::ui
