// Accepting connections, watching over them, and stopping in order.
#include "net/server.hpp"

#include <algorithm>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/system/system_error.hpp>
#include <exception>
#include <utility>
#include <vector>

#include "base/task_group.hpp"
#include "net/http1/serving.hpp"
#include "net/serving.hpp"

namespace cotrain::net {

namespace {

constexpr std::chrono::milliseconds sweep_every{250};
constexpr std::chrono::milliseconds accept_pause{50};  // when the system has no descriptors left

constexpr int internal_error = 500;

// What a handler throws is its request's own trouble: the peer hears of it, and everybody else goes on.
awaitable<void> contain(const request_handler* handler, base::logger* log, incoming request) {
    try {
        co_await (*handler)(request);
        co_return;
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw;  // the server stops
        log->error("a request ended in an exception", {{"path", request.head().path}, {"error", e.what()}});
    } catch (const std::exception& e) {
        log->error("a request ended in an exception", {{"path", request.head().path}, {"error", e.what()}});
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
          options(std::move(given)),
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
    std::vector<std::shared_ptr<server_link>> connections;
    struct shaking {
        transport* wire;
        time_point until;
    };
    std::vector<shaking> handshakes;
    bool stopping = false;

    [[nodiscard]] awaitable<void> accept();
    [[nodiscard]] awaitable<void> serve(asio::ip::tcp::socket socket);
    [[nodiscard]] awaitable<void> write(std::shared_ptr<server_link> link) { co_await link->write_loop(); }
    [[nodiscard]] awaitable<void> sweep();
    [[nodiscard]] std::shared_ptr<server_link> link(transport wire);
    [[nodiscard]] boost::system::error_code listen(const asio::ip::address& address);
    [[nodiscard]] bool make_room();
    [[nodiscard]] bool full() const { return connections.size() + handshakes.size() >= options.connections_max; }
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
    impl_->tasks.spawn("accept", impl_->accept());
    impl_->tasks.spawn("sweep", impl_->sweep());
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

// Who has waited longest without a request goes first, or the oldest of those who do not shake hands, whichever are
// more: connections that only sit there keep nobody out.
bool server::impl::make_room() {
    if (!full()) return true;
    if (handshakes.size() > connections.size()) {
        const shaking oldest = handshakes.front();
        handshakes.erase(handshakes.begin());
        oldest.wire->close();
        return !full();
    }
    const auto longest = std::ranges::min_element(
        connections, {}, [](const auto& link) { return link->idle_since().value_or(time_point::max()); });
    if (longest == connections.end() || !(*longest)->idle_since()) return false;
    (*longest)->close();
    std::erase_if(connections, [](const auto& link) { return link->closed(); });
    return !full();
}

awaitable<void> server::impl::accept() {
    asio::steady_timer pause(executor);
    while (!stopping) {
        auto [error, socket] = co_await acceptor.async_accept(use_tuple);
        if (error == asio::error::operation_aborted) co_return;
        if (error) {
            log.warn("cannot accept a connection", {{"error", std::string_view(error.message())}});
            pause.expires_after(accept_pause);
            co_await pause.async_wait(use_tuple);
            continue;
        }
        if (!make_room()) {
            ++counters.refused_connections;
            continue;  // the socket closes
        }
        ++counters.connections;
        tasks.spawn("connection", serve(std::move(socket)));
    }
}

awaitable<void> server::impl::serve(asio::ip::tcp::socket socket) {
    boost::system::error_code ignored;
    socket.set_option(asio::ip::tcp::no_delay(true), ignored);
    std::optional<tls::engine> secured;
    if (options.tls) {
        auto keys = options.tls();
        if (!keys) co_return;  // no certificate yet
        secured.emplace(std::move(keys));
    }
    transport wire(std::move(socket), std::move(secured));
    handshakes.push_back({&wire, std::chrono::steady_clock::now() + options.handshake});
    struct leave {
        std::vector<shaking>* list;
        transport* wire;
        ~leave() {
            std::erase_if(*list, [this](const shaking& s) { return s.wire == wire; });
        }
    };
    {
        leave at_end{&handshakes, &wire};
        if (auto shaken = co_await wire.handshake(); !shaken) {
            log.debug("TLS handshake failed", {{"error", shaken.error().message}});
            co_return;
        }
    }
    const auto with = link(std::move(wire));
    connections.push_back(with);
    if (stopping) with->shutdown();
    tasks.spawn("write", write(with));
    co_await with->read_loop();
    // After a protocol error the writer still says why: the sweep removes what is closed.
}

std::shared_ptr<server_link> server::impl::link(transport wire) {
    const bool old = options.tls ? wire.protocol() != "h2" : options.plain_http1;
    if (old) return std::make_shared<http1::serving>(std::move(wire), options, handler, counters, tasks);
    return std::make_shared<serving>(std::move(wire), options, handler, counters, tasks);
}

awaitable<void> server::impl::sweep() {
    asio::steady_timer timer(executor);
    for (;;) {
        timer.expires_after(sweep_every);
        co_await timer.async_wait(use_tuple);
        const auto now = std::chrono::steady_clock::now();
        for (const shaking& each : std::vector(handshakes))
            if (each.until <= now) each.wire->close();
        std::erase_if(connections, [](const auto& link) { return link->closed(); });
        for (const auto& link : std::vector(connections)) link->tick(now);
    }
}

std::uint16_t server::port() const {
    boost::system::error_code error;
    return impl_->acceptor.local_endpoint(error).port();
}

server_counters server::counters() const {
    server_counters now = impl_->counters;
    now.connections_open = static_cast<std::size_t>(std::count_if(impl_->connections.begin(), impl_->connections.end(),
                                                                  [](const auto& link) { return !link->closed(); }));
    return now;
}

void server::shutdown_connections() {
    for (const auto& link : std::vector(impl_->connections)) link->shutdown();
}

void server::drop_connections() {
    for (const auto& link : std::vector(impl_->connections)) link->close();
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
    impl_->connections.clear();
}

}  // namespace cotrain::net
