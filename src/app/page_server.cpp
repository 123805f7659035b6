// Serves the page.
#include "app/page_server.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "app/page_texts.hpp"

namespace cotrain::app {

namespace {

// Nothing is loaded from anywhere else, and no other page may put this one into a frame.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'";

net::header_list headers(std::string_view type) {
    return {{"content-type", std::string(type)},
            {"cache-control", "no-store"},
            {"content-security-policy", std::string(policy)},
            {"x-content-type-options", "nosniff"}};
}

// A name that leads here from elsewhere (DNS rebinding) gets nothing: the page tells of a cluster.
bool is_local(std::string_view host) {
    const std::string_view name = host.substr(0, host.rfind(':'));
    return name == "127.0.0.1" || name == "localhost" || name == "[::1]";
}

net::server_options options_for(std::string address, std::uint16_t port) {
    net::server_options out;
    out.address = std::move(address);
    out.port = port;
    out.plain_http1 = true;
    out.body_bytes_max = 1024;
    return out;
}

}  // namespace

struct page_server::open_page {
    open_page(asio::io_context& loop, std::list<open_page*>& all) : wake(loop), pages(all) {
        place = pages.insert(pages.end(), this);
    }
    ~open_page() { pages.erase(place); }
    open_page(const open_page&) = delete;
    open_page& operator=(const open_page&) = delete;

    asio::steady_timer wake;
    bool dirty = true;
    bool resting = false;  // between two states: changes are only noted
    std::list<open_page*>& pages;
    std::list<open_page*>::iterator place;
};

page_server::page_server(asio::io_context& loop, std::string address, std::uint16_t port,
                         std::function<std::string()> state, base::logger& log)
    : loop_(loop),
      state_(std::move(state)),
      wire_(
          loop.get_executor(), options_for(std::move(address), port),
          [this](net::incoming in) { return answer(std::move(in)); }, log) {}

page_server::~page_server() = default;

void page_server::changed() {
    for (open_page* const each : pages_) {
        if (!std::exchange(each->dirty, true) && !each->resting) each->wake.cancel();
    }
}

awaitable<void> page_server::answer(net::incoming in) {
    struct file {
        std::string_view path;
        std::string_view type;
        std::string_view text;
    };
    const std::array files{file{"/", "text/html; charset=utf-8", page::html},
                           file{"/page.js", "text/javascript; charset=utf-8", page::script},
                           file{"/page.css", "text/css; charset=utf-8", page::style}};
    const auto& head = in.head();
    const std::string_view host = head.authority.empty() ? net::find_header(head.headers, "host") : head.authority;
    if (!is_local(host)) co_return in.respond(403, headers("text/plain"), "this page is for this machine only\n");
    if (head.method != "GET") co_return in.respond(405, headers("text/plain"), "GET only\n");
    const std::string_view path = std::string_view(head.path).substr(0, head.path.find('?'));
    if (path == "/state") co_return co_await stream(std::move(in));
    const auto found = std::ranges::find(files, path, &file::path);
    if (found == files.end()) co_return in.respond(404, headers("text/plain"), "no such page\n");
    in.respond(200, headers(found->type), found->text);
}

// Server-sent events: the whole state with each change, at most ten times a second.
awaitable<void> page_server::stream(net::incoming in) {
    if (stopping_ || pages_.size() >= pages_max)
        co_return in.respond(503, headers("text/plain"), "too many pages are open\n");
    in.begin(200, headers("text/event-stream"));
    open_page self(loop_, pages_);
    while (!stopping_ && !in.gone()) {
        if (std::exchange(self.dirty, false)) {
            const std::string message = "data: " + state_() + "\n\n";
            if (!co_await in.write(message)) break;
            // The changes of this time make one state.
            self.resting = true;
            self.wake.expires_after(state_pause);
            co_await self.wake.async_wait(use_tuple);
            self.resting = false;
        }
        if (self.dirty || stopping_) continue;
        self.wake.expires_after(std::chrono::seconds(15));
        const auto [error] = co_await self.wake.async_wait(use_tuple);
        // A word now and then, so that a page that was closed is noticed.
        if (!error && !co_await in.write(": still here\n\n")) break;
    }
    in.finish();
}

awaitable<void> page_server::stop() {
    stopping_ = true;
    for (open_page* const each : pages_) each->wake.cancel();
    co_await wire_.stop();
}

}  // namespace cotrain::app
