// Carries questions and answers between the wire and the cluster.
#include "sim/server.hpp"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <utility>

#include "sim/failure.hpp"

namespace cotrain::sim {
namespace {

api::seconds_time now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

net::header_list headers_of(std::string_view content_type) {
    return {{"content-type", std::string{content_type}}, {"cache-control", "no-cache, private"}};
}

// What warnings may hold in a header: no quotes, no control bytes.
std::string header_text(std::string_view text) {
    std::string out = "299 - \"";
    for (const char c : text) {
        if (c == '"' || c == '\\') out += '\\';
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return out + '"';
}

}  // namespace

// A watch's place in the server's list, for as long as it lives.
struct server::open_watch {
    explicit open_watch(server& of)
        : wake(of.executor_), owner(of), place(of.watches_.insert(of.watches_.end(), this)) {
        ++owner.counters_.watches;
        ++owner.counters_.watches_open;
    }
    ~open_watch() {
        *open = false;
        owner.watches_.erase(place);
        --owner.counters_.watches_open;
    }
    open_watch(const open_watch&) = delete;
    open_watch& operator=(const open_watch&) = delete;

    asio::steady_timer wake;  // cancelled when there is something to look at
    std::shared_ptr<bool> open = std::make_shared<bool>(true);
    server& owner;
    std::list<open_watch*>::iterator place;
};

server::server(asio::any_io_executor executor, cluster& of, net::server_options options, base::logger& log)
    : cluster_(of),
      executor_(executor),
      tasks_(executor),
      wire_(executor, std::move(options), [this](net::incoming in) { return handle(std::move(in)); }, log) {
    tasks_.spawn("garbage collector", collect_loop());
}

server::~server() = default;

void server::changed() {
    for (open_watch* const each : watches_) each->wake.cancel();
    garbage_.notify_later();
}

awaitable<void> server::collect_loop() {
    while (co_await garbage_.wait()) {
        bool more = true;
        while (more) {
            const std::uint64_t before = cluster_.objects().version();
            for (int i = 0; more && i < collect_steps_max; ++i) more = cluster_.collect(now());
            if (cluster_.objects().version() != before) {
                for (open_watch* const each : watches_) each->wake.cancel();
            }
            co_await asio::post(executor_, asio::use_awaitable);
        }
    }
}

awaitable<void> server::handle(net::incoming in) {
    ++counters_.requests;
    const net::h2::head& head = in.head();
    const question what{.method = head.method,
                        .target = head.path,
                        .accept = net::find_header(head.headers, "accept"),
                        .content_type = net::find_header(head.headers, "content-type"),
                        .user_agent = net::find_header(head.headers, "user-agent"),
                        .body = in.body()};
    const std::uint64_t before = cluster_.objects().version();
    response said = ask(cluster_, what, now());
    if (cluster_.objects().version() != before) changed();
    if (auto* const whole = std::get_if<answer>(&said)) {
        net::header_list headers = headers_of(whole->content_type);
        for (const std::string& warning : whole->warnings) headers.push_back({"warning", header_text(warning)});
        in.respond(whole->status, std::move(headers), whole->body);
        co_return;
    }
    if (stopping_ || watches_.size() >= watches_max) {
        in.respond(429, {{"retry-after", "1"}, {"content-type", "application/json"}},
                   to_status({429, "TooManyRequests", "too many watches are open, please try again later"}));
        co_return;
    }
    co_await stream(std::move(in), std::move(std::get<opened_watch>(said)));
}

awaitable<bool> server::drain(net::incoming in, watcher* events) {
    std::string lines;
    bool more = true;
    while (more && !stopping_) {
        lines.clear();
        while (more && lines.size() < watch_write_bytes) {
            if (auto line = events->next(now())) {
                lines += *line;
            } else {
                more = false;
            }
        }
        if (lines.empty()) break;
        if (!co_await in.write(lines)) co_return false;
    }
    co_return !events->over() && !stopping_;
}

namespace {

// Wakes a watch whose peer has left.
awaitable<void> notice_end(net::incoming in, std::shared_ptr<bool> open, asio::steady_timer* wake) {
    co_await in.until_gone();
    if (*open) wake->cancel();
}

}  // namespace

awaitable<void> server::stream(net::incoming in, opened_watch what) {
    in.begin(200, headers_of(what.content_type));
    watcher events(cluster_, std::move(what.wish));
    open_watch self(*this);
    tasks_.spawn("end of a watch", notice_end(in, self.open, &self.wake));
    const auto end = std::chrono::steady_clock::now() + what.timeout;
    auto bookmark_due = std::chrono::steady_clock::now() + bookmark_interval;
    while (co_await drain(in, &events)) {
        const auto time = std::chrono::steady_clock::now();
        if (in.gone() || time >= end) break;
        if (time >= bookmark_due) {
            bookmark_due = time + bookmark_interval;
            if (const auto line = events.bookmark(); line && !co_await in.write(*line)) break;
            continue;
        }
        // Nothing can have happened since drain() saw the end of history: no wait lies between.
        self.wake.expires_at(std::min(end, bookmark_due));
        co_await self.wake.async_wait(use_tuple);
    }
    in.finish();
}

awaitable<void> server::stop() {
    stopping_ = true;
    for (open_watch* const each : watches_) each->wake.cancel();
    co_await wire_.stop();
    tasks_.cancel();
    co_await tasks_.join();
}

}  // namespace cotrain::sim
