#include "ui/page_server.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/encoding.hpp"
#include "base/random.hpp"
#include "ui/page_files.hpp"

namespace cotrain::ui {

namespace {

// Nothing is loaded from anywhere else, nothing inline runs, and no other page may put this one into a frame.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

net::header_list headers(std::string_view type) {
    return {{"content-type", std::string(type)},
            {"cache-control", "no-store"},
            {"content-security-policy", std::string(policy)},
            {"x-content-type-options", "nosniff"},
            {"referrer-policy", "no-referrer"},
            {"cross-origin-resource-policy", "same-origin"},
            {"cross-origin-opener-policy", "same-origin"}};
}

constexpr std::string_view plain = "text/plain; charset=utf-8";
constexpr std::string_view json = "application/json";

// Without the port: whoever forwards one to this machine calls it differently.
std::string_view host_of(std::string_view authority) {
    const std::size_t colon = authority.rfind(':');
    const std::size_t bracket = authority.rfind(']');
    const bool has_port = colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
    return has_port ? authority.substr(0, colon) : authority;
}

bool is_local(std::string_view host) { return host == "127.0.0.1" || host == "localhost" || host == "[::1]"; }

net::server_options wire_options(const page_options& wanted) {
    net::server_options out;
    out.address = wanted.address;
    out.port = wanted.port;
    out.plain_http1 = true;
    out.body_bytes_max = 1024;
    return out;
}

std::string parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        const std::string_view one = query.substr(0, query.find('&'));
        query.remove_prefix(std::min(one.size() + 1, query.size()));
        const std::size_t equals = one.find('=');
        if (equals != std::string_view::npos && one.substr(0, equals) == name)
            return base::decode_percent(one.substr(equals + 1), true).value_or("");
    }
    return {};
}

std::uint64_t read_number(std::string_view text) {
    std::uint64_t out = 0;
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

// What the API server refused is refused in its own words; what went wrong on the way is no mistake of the page's.
int status_of(const base::error& why) {
    if (why.http_status >= 400) return why.http_status;
    return why.code == base::errc::invalid ? 400 : 502;
}

struct counted {
    explicit counted(std::size_t& of) : n(of) { ++n; }
    ~counted() { --n; }
    counted(const counted&) = delete;
    counted& operator=(const counted&) = delete;
    std::size_t& n;
};

}  // namespace

refusal judge_request(const net::h2::head& head) {
    const std::string_view authority =
        head.authority.empty() ? net::find_header(head.headers, "host") : std::string_view(head.authority);
    if (!is_local(host_of(authority))) return {403, "this page is for this machine only\n"};
    const std::string_view origin = net::find_header(head.headers, "origin");
    if (!origin.empty() && origin != "http://" + std::string(authority))
        return {403, "for the page's own origin only\n"};
    // Browsers say where a request comes from; another port of this machine is another site's page, too.
    const std::string_view site = net::find_header(head.headers, "sec-fetch-site");
    const bool opens = net::find_header(head.headers, "sec-fetch-mode") == "navigate" &&
                       net::find_header(head.headers, "sec-fetch-dest") == "document";
    if (!site.empty() && site != "same-origin" && site != "none" && !opens)
        return {403, "for the page's own origin only\n"};
    if (head.method != "GET") return {405, "GET only\n"};
    return {};
}

struct page_server::open_page {
    open_page(asio::io_context& loop, std::list<open_page*>& all) : wake(loop), pages(all) {
        place = pages.insert(pages.end(), this);
    }
    ~open_page() { pages.erase(place); }
    open_page(const open_page&) = delete;
    open_page& operator=(const open_page&) = delete;

    asio::steady_timer wake;
    std::uint64_t sent = 0;  // the revision up to which it knows the rows
    bool headed = false;     // it has been sent the head of a snapshot
    bool more = false;       // of a snapshot
    bool dirty = true;
    bool resting = false;  // between two messages: changes are only noted
    std::list<open_page*>& pages;
    std::list<open_page*>::iterator place;
};

page_server::page_server(asio::io_context& loop, page_options options, const fleet& rows, reader& reads,
                         std::function<void(feed_message&)> about, base::logger& log)
    : loop_(loop),
      options_(std::move(options)),
      root_(options_.key.empty() ? "/" : "/" + options_.key + "/"),
      epoch_(base::random_source::from_system().next() >> 12U),
      rows_(rows),
      reads_(reads),
      about_(std::move(about)),
      wire_(
          loop.get_executor(), wire_options(options_), [this](net::incoming in) { return answer(std::move(in)); },
          log) {}

page_server::~page_server() = default;

std::string page_server::url() const {
    const bool six = options_.address.contains(':');
    return fmt::format("http://{}{}{}:{}{}", six ? "[" : "", options_.address, six ? "]" : "", wire_.port(), root_);
}

void page_server::changed() {
    for (open_page* const each : pages_) {
        if (!std::exchange(each->dirty, true) && !each->resting) each->wake.cancel();
    }
}

awaitable<void> page_server::answer(net::incoming in) {
    const auto& head = in.head();
    if (const refusal no = judge_request(head); no.status != 0) co_return in.respond(no.status, headers(plain), no.why);
    const std::string_view target = head.path;
    const std::string_view path = target.substr(0, target.find('?'));
    const std::string_view query = path.size() == target.size() ? std::string_view{} : target.substr(path.size() + 1);
    if (!path.starts_with(root_)) co_return in.respond(404, headers(plain), "no such page\n");
    const std::string_view name = path.substr(root_.size());
    if (name == "feed") co_return co_await feed(std::move(in));
    if (name.starts_with("api/"))
        co_return co_await read(std::move(in), std::string(name.substr(4)), std::string(query));
    const page_file* const file = find_page_file(name.empty() ? "index.html" : name);
    if (file == nullptr) co_return in.respond(404, headers(plain), "no such page\n");
    in.respond(200, headers(file->type), file->text);
}

awaitable<void> page_server::read(net::incoming in, std::string what, std::string query) {
    const job_name of{parameter(query, "ns"), parameter(query, "name")};
    const std::string which = parameter(query, "kind");
    const bool cluster_wide = what == "object" && which == "clustertrainingruntime";
    if (!is_name(of.name) || (!cluster_wide && !is_name(of.ns)))
        co_return in.respond(400, headers(json), to_json(failure_row{"ns and name have to be names of Kubernetes"}));
    if (stopping_ || reading_ >= reads_max)
        co_return in.respond(503, headers(json), to_json(failure_row{"too much is being read; ask again"}));
    const counted one(reading_);
    base::result<std::string> out = base::fail(base::errc::invalid, "no such part of a job");
    if (what == "job") out = co_await reads_.details(of);
    if (what == "pods") out = co_await reads_.pods(of);
    if (what == "events") out = co_await reads_.events(of);
    if (what == "children") out = co_await reads_.children(of);
    if (what == "object") out = co_await reads_.object(which, of);
    if (!out) co_return in.respond(status_of(out.error()), headers(json), to_json(failure_row{out.error().message}));
    in.respond(200, headers(what == "object" ? plain : json), *out);
}

std::string page_server::next_message(open_page& page) const {
    feed_message out;
    about_(out);
    out.full = rows_.full();
    out.now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()).time_since_epoch().count();
    if (page.sent == 0 && !std::exchange(page.headed, true) && rows_.jobs() > head_rows_max) {
        fleet::summary head = rows_.sum_up(head_rows_max);
        out.reset = page.more = true;
        out.head = std::move(head.states);
        out.rows = std::move(head.newest);
    } else {
        fleet::changes all = rows_.since(page.sent, feed_rows_max);
        out.reset = all.reset;
        out.complete = !all.more;
        out.rows = std::move(all.rows);
        out.gone = std::move(all.gone);
        page.sent = all.upto;
        page.more = all.more;
    }
    return fmt::format("id: {}-{}\ndata: {}\n\n", epoch_, page.sent, to_json(out));
}

// Server-sent events: all rows at first, then those that changed.
awaitable<void> page_server::feed(net::incoming in) {
    if (stopping_ || pages_.size() >= pages_max) co_return in.respond(503, headers(plain), "too many pages are open\n");
    const std::string_view last = net::find_header(in.head().headers, "last-event-id");
    const std::size_t dash = last.find('-');
    open_page self(loop_, pages_);
    if (dash != std::string_view::npos && read_number(last.substr(0, dash)) == epoch_)
        self.sent = std::min(read_number(last.substr(dash + 1)), rows_.revision());
    in.begin(200, headers("text/event-stream"));
    while (!stopping_ && !in.gone()) {
        if (std::exchange(self.dirty, false) || self.more) {
            const std::string message = next_message(self);
            if (!co_await in.write(message)) break;
            if (self.more) continue;
            // The changes of this time make one message.
            self.resting = true;
            self.wake.expires_after(feed_pause);
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

}  // namespace cotrain::ui
