// Accepting connections, watching over them, and stopping in order.
#include "net/server.hpp"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/system/errc.hpp>
#include <list>
#include <utility>
#include <vector>

#include "base/contain.hpp"
#include "base/task_group.hpp"
#include "net/crowd.hpp"
#include "net/http1/serving.hpp"
#include "net/serving.hpp"

namespace cotrain::net {

namespace {

constexpr std::chrono::milliseconds sweep_every{250};
constexpr std::chrono::milliseconds accept_pause{50};  // when the system has no descriptors left
constexpr std::size_t own_account_bytes_max = 256U << 20U;

server_options completed(server_options given) {
    if (given.account == nullptr) given.account = std::make_shared<memory_account>(own_account_bytes_max);
    if (given.connections_per_source_max == 0)
        given.connections_per_source_max = std::max<std::size_t>(1, given.connections_max / 4);
    return given;
}

bool out_of_descriptors(const boost::system::error_code& error) {
    return error == boost::system::errc::too_many_files_open ||
           error == boost::system::errc::too_many_files_open_in_system;
}

constexpr int internal_error = 500;

// What a handler throws is its request's own trouble: the peer hears of it, and everybody else goes on.
awaitable<void> contain(const request_handler* handler, base::logger* log, incoming request) {
    try {
        co_await (*handler)(request);
        co_return;
    } catch (...) {
        log->error("unexpected exception",
                   {{"in", "request"}, {"path", request.head().path}, {"error", base::caught()}});
    }
    request.respond(internal_error, {}, "internal error");
}

// `inner` outlives what is answered.
request_handler contained(const request_handler& inner, base::logger& log) {
    return [&inner, &log](incoming request) { return contain(&inner, &log, std::move(request)); };
}

}  // namespace

struct server::impl {
    impl(asio::any_io_executor on, server_options given, request_handler answer, base::logger& to)
        : executor(on),
          options(completed(std::move(given))),
          bare(std::move(answer)),
          handler(contained(bare, to)),
          log(to),
          acceptor(on),
          tasks(on) {}

    asio::any_io_executor executor;
    server_options options;
    request_handler bare;
    request_handler handler;  // the same, contained
    base::logger& log;
    asio::ip::tcp::acceptor acceptor;
    base::task_group tasks;
    server_counters counters;
    // A connection: first it shakes hands, then it has a link.
    struct place {
        source from;
        time_point since;
        transport* shaking = nullptr;
        std::shared_ptr<server_link> link;

        [[nodiscard]] bool closed() const { return shaking == nullptr && (link == nullptr || link->closed()); }
        [[nodiscard]] std::optional<time_point> waiting_since() const {
            return shaking != nullptr ? since : link->waiting_since();
        }
        void close() const {
            if (shaking != nullptr) return shaking->close();
            link->close();
        }
    };
    std::list<place> places;
    bool accepting = true;  // the last attempt succeeded
    bool stopping = false;

    [[nodiscard]] awaitable<void> accept();
    [[nodiscard]] awaitable<void> serve(asio::ip::tcp::socket socket, std::list<place>::iterator at);
    [[nodiscard]] awaitable<void> shake_and_read(asio::ip::tcp::socket socket, std::list<place>::iterator at);
    [[nodiscard]] awaitable<void> contain(std::shared_ptr<server_link> link, awaitable<void> loop);
    [[nodiscard]] awaitable<void> sweep();
    [[nodiscard]] std::shared_ptr<server_link> link(transport wire, const source& from);
    [[nodiscard]] boost::system::error_code listen(const asio::ip::address& address);
    // Whether a new connection from there gets a place when there are so many at most; somebody may lose his for it.
    [[nodiscard]] bool make_room(const source& from, std::size_t connections_max);
    void forget_closed() {
        std::erase_if(places, [](const place& each) { return each.closed(); });
    }
    [[nodiscard]] std::vector<std::shared_ptr<server_link>> links() const;
};

server::server(asio::any_io_executor executor, server_options options, request_handler handler, base::logger& log)
    : impl_(std::make_unique<impl>(std::move(executor), std::move(options), std::move(handler), log)) {}

server::~server() = default;

base::result<> server::start() {
    const auto trouble = [this](const boost::system::error_code& error) {
        return base::fail(base::errc::connect, "listen on " + impl_->options.address + ":" +
                                                   std::to_string(impl_->options.port) + ": " + error.message());
    };
    boost::system::error_code error;
    const bool everywhere = impl_->options.address.empty();
    const auto address = everywhere ? asio::ip::address(asio::ip::address_v6::any())
                                    : asio::ip::make_address(impl_->options.address, error);
    if (!error) error = impl_->listen(address);
    // A kernel without IPv6, or with it turned off.
    if (everywhere && error && error != asio::error::address_in_use) error = impl_->listen(asio::ip::address_v4::any());
    if (error) return trouble(error);
    impl_->tasks.supervise("accept", [of = impl_.get()] { return of->accept(); }, impl_->log);
    impl_->tasks.supervise("sweep", [of = impl_.get()] { return of->sweep(); }, impl_->log);
    return {};
}

boost::system::error_code server::impl::listen(const asio::ip::address& address) {
    const asio::ip::tcp::endpoint where(address, options.port);
    boost::system::error_code error;
    acceptor.open(where.protocol(), error);
    if (!error && address.is_v6() && address.is_unspecified()) acceptor.set_option(asio::ip::v6_only(false), error);
    if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor.bind(where, error);
    if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
    boost::system::error_code ignored;
    if (error) acceptor.close(ignored);
    return error;
}

bool server::impl::make_room(const source& from, std::size_t connections_max) {
    forget_closed();
    const auto of_source = static_cast<std::size_t>(std::ranges::count(places, from, &place::from));
    if (places.size() < connections_max && of_source < options.connections_per_source_max) return true;
    std::vector<occupant> present;
    present.reserve(places.size());
    for (const place& each : places) present.push_back({each.from, each.waiting_since()});
    const entry_verdict verdict = admit(present, from, {connections_max, options.connections_per_source_max});
    if (verdict.leaves) {
        ++counters.displaced_connections;
        const auto leaving = std::next(places.begin(), static_cast<std::ptrdiff_t>(*verdict.leaves));
        leaving->close();
        // Its coroutines may still have to notice.
        if (leaving->closed()) places.erase(leaving);
    }
    return verdict.admitted;
}

awaitable<void> server::impl::accept() {
    asio::steady_timer pause(executor);
    while (!stopping) {
        auto [error, socket] = co_await acceptor.async_accept(use_tuple);
        if (error == asio::error::operation_aborted) co_return;
        if (error) {
            if (std::exchange(accepting, false))
                log.warn("cannot accept a connection", {{"error", std::string_view(error.message())}});
            // Who only sits there makes room, as when there are too many.
            if (out_of_descriptors(error)) static_cast<void>(make_room(source{}, places.size()));
            pause.expires_after(accept_pause);
            co_await pause.async_wait(use_tuple);
            continue;
        }
        accepting = true;
        boost::system::error_code gone;
        const source from = source_of(socket.remote_endpoint(gone).address());
        if (gone) continue;
        if (!make_room(from, options.connections_max)) {
            ++counters.refused_connections;
            continue;  // the socket closes
        }
        ++counters.connections;
        places.push_back({.from = from, .since = std::chrono::steady_clock::now()});
        tasks.spawn("connection", serve(std::move(socket), std::prev(places.end())));
    }
}

// An exception ends its connection alone.
awaitable<void> server::impl::serve(asio::ip::tcp::socket socket, std::list<place>::iterator at) {
    try {
        co_await shake_and_read(std::move(socket), at);
    } catch (...) {
        log.error("unexpected exception", {{"in", "connection"}, {"error", base::caught()}});
    }
}

awaitable<void> server::impl::contain(std::shared_ptr<server_link> link, awaitable<void> loop) {
    try {
        co_await std::move(loop);
    } catch (...) {
        const std::string why = base::caught();
        link->close();
        log.error("unexpected exception", {{"in", "connection"}, {"error", why}});
    }
}

awaitable<void> server::impl::shake_and_read(asio::ip::tcp::socket socket, std::list<place>::iterator at) {
    boost::system::error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    // Until there is a link nobody else takes the place away.
    struct leave {
        std::list<place>* list;
        std::list<place>::iterator at;
        bool linked = false;
        ~leave() {
            if (!linked) list->erase(at);
        }
    } at_end{&places, at};
    std::optional<tls::engine> secured;
    if (options.tls) {
        auto keys = options.tls();
        if (!keys) co_return;  // no certificate yet
        secured.emplace(std::move(keys));
    }
    transport wire(std::move(socket), std::move(secured), transport::lean);
    at->shaking = &wire;
    if (auto shaken = co_await wire.handshake(); !shaken) {
        log.debug("TLS handshake failed", {{"error", shaken.error().message}});
        co_return;
    }
    const auto with = link(std::move(wire), at->from);
    at->shaking = nullptr;
    at->link = with;
    at_end.linked = true;
    if (stopping) with->shutdown();
    tasks.spawn("write", contain(with, with->write_loop()));
    co_await contain(with, with->read_loop());
    // After a protocol error the writer still says why: the sweep removes what is closed.
}

std::shared_ptr<server_link> server::impl::link(transport wire, const source& from) {
    const bool old = options.tls ? wire.protocol() != "h2" : options.plain_http1;
    if (old) return std::make_shared<http1::serving>(std::move(wire), from, options, handler, counters, tasks);
    return std::make_shared<serving>(std::move(wire), from, options, handler, counters, tasks);
}

std::vector<std::shared_ptr<server_link>> server::impl::links() const {
    std::vector<std::shared_ptr<server_link>> out;
    for (const place& each : places)
        if (each.link != nullptr) out.push_back(each.link);
    return out;
}

awaitable<void> server::impl::sweep() {
    asio::steady_timer timer(executor);
    for (;;) {
        timer.expires_after(sweep_every);
        co_await timer.async_wait(use_tuple);
        const auto now = std::chrono::steady_clock::now();
        for (const place& each : places)
            if (each.shaking != nullptr && now - each.since >= options.handshake) each.shaking->close();
        forget_closed();
        for (const auto& link : links()) link->tick(now);
    }
}

std::uint16_t server::port() const {
    boost::system::error_code error;
    return impl_->acceptor.local_endpoint(error).port();
}

server_counters server::counters() const {
    server_counters now = impl_->counters;
    now.connections_open = static_cast<std::size_t>(std::ranges::count_if(
        impl_->places, [](const auto& each) { return each.link != nullptr && !each.link->closed(); }));
    now.bytes_held = impl_->options.account->held();
    return now;
}

void server::shutdown_connections() {
    for (const auto& link : impl_->links()) link->shutdown();
}

void server::drop_connections() {
    for (const auto& link : impl_->links()) link->close();
}

void server::close() {
    impl_->stopping = true;
    boost::system::error_code ignored;
    impl_->acceptor.close(ignored);
    shutdown_connections();
}

awaitable<void> server::stop(std::chrono::steady_clock::time_point latest) {
    close();
    asio::steady_timer timer(impl_->executor);
    const auto end = std::min(std::chrono::steady_clock::now() + impl_->options.drain, latest);
    // Once even when it is too late: what is answered already goes out, with a GOAWAY.
    do {
        timer.expires_after(std::chrono::milliseconds(5));
        co_await timer.async_wait(use_tuple);
    } while (counters().connections_open != 0 && std::chrono::steady_clock::now() < end);
    drop_connections();
    impl_->tasks.cancel();
    co_await impl_->tasks.join();
    impl_->places.clear();
}

}  // namespace cotrain::net
