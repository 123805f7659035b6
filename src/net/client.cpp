// The public face of the client: sending whole requests and reading streamed bodies.
#include "net/client.hpp"

#include <utility>

#include "net/pool.hpp"

namespace cotrain::net {

namespace {

// Gives the request up when its coroutine ends early, by cancellation or otherwise.
template <class Owner>
struct abandon_on_exit {
    Owner* owner;
    std::shared_ptr<exchange> what;
    ~abandon_on_exit() {
        if (what) owner->drop(*what);
    }
};

base::error given_up() { return base::make_error(base::errc::canceled, "given up by the caller"); }

}  // namespace

client::client(asio::any_io_executor executor, client_options options, base::logger& log)
    : impl_(std::make_unique<impl>(std::move(executor), std::move(options), log)) {}

client::~client() = default;

awaitable<base::result<response>> client::send(request what, request* back) {
    auto shared = std::make_shared<exchange>();
    shared->what = std::move(what);
    const abandon_on_exit<impl> guard{impl_.get(), shared};
    impl_->start(shared);
    while (!shared->settled())
        if (!co_await shared->changed.wait()) break;
    impl_->drop(*shared);  // before the request, which a stream may still refer to
    if (back != nullptr) *back = std::move(shared->what);
    if (shared->failure) co_return base::fail(std::move(*shared->failure));
    co_return response{shared->status, std::move(shared->headers), std::move(shared->text),
                       std::move(shared->trailers)};
}

struct body_stream::state {
    client::impl* owner = nullptr;
    std::shared_ptr<exchange> what;
    base::byte_queue current{16U << 10U};  // what the reader looks at: apart from what arrives meanwhile

    // After the client's stop() no stream is carried or timed any more, and the client may be gone.
    void give_up() const {
        if (what->on != nullptr || what->alarmed) owner->drop(*what);
    }
};

awaitable<base::result<body_stream>> client::open(request what) {
    auto shared = std::make_shared<exchange>();
    shared->what = std::move(what);
    shared->whole = false;
    abandon_on_exit<impl> guard{impl_.get(), shared};
    impl_->start(shared);
    while (shared->status == 0 && !shared->settled())
        if (!co_await shared->changed.wait()) co_return base::fail(given_up());
    if (shared->failure) co_return base::fail(std::move(*shared->failure));
    impl_->disarm(*shared);
    guard.what.reset();
    auto held = std::make_unique<body_stream::state>();
    held->owner = impl_.get();
    held->what = std::move(shared);
    co_return body_stream(std::move(held));
}

body_stream::body_stream(std::unique_ptr<state> held) : state_(std::move(held)) {}
body_stream::body_stream(body_stream&&) noexcept = default;

body_stream& body_stream::operator=(body_stream&& other) noexcept {
    if (state_) state_->give_up();
    state_ = std::move(other.state_);
    return *this;
}

body_stream::~body_stream() {
    if (state_) state_->give_up();
}

void body_stream::end_by(std::chrono::steady_clock::time_point when) {
    exchange& what = *state_->what;
    if (what.on == nullptr) return;
    what.deadline = when;
    state_->owner->arm(what, when);
}

int body_stream::status() const { return state_->what->status; }
const header_list& body_stream::headers() const { return state_->what->headers; }

base::signal& body_stream::changed() { return state_->what->changed; }

std::optional<base::result<std::string_view>> body_stream::take() {
    state& s = *state_;
    exchange& what = *s.what;
    if (const std::size_t used = s.current.size(); used != 0) {
        s.current.clear();
        if (what.on != nullptr) what.on->consume(what, used);
    }
    if (!what.body.empty()) {
        s.current.swap(what.body);
        return s.current.view();
    }
    if (what.ended) return std::string_view{};
    if (what.failure) return base::fail(*what.failure);
    return std::nullopt;
}

awaitable<base::result<std::string_view>> body_stream::read() {
    for (;;) {
        if (auto got = take()) co_return *std::move(got);
        if (!co_await arrival()) co_return base::fail(given_up());
    }
}

awaitable<base::result<std::string>> body_stream::read_all(std::size_t bytes_max) {
    std::string all;
    for (;;) {
        auto piece = co_await read();
        if (!piece) co_return base::fail(std::move(piece).error());
        if (piece->empty()) co_return all;
        if (all.size() + piece->size() > bytes_max)
            co_return base::fail(base::errc::too_large,
                                 "the answer is larger than " + std::to_string(bytes_max) + " bytes");
        all.append(*piece);
    }
}

void client::use_tls(std::shared_ptr<const tls::context> tls) { impl_->replace_tls(std::move(tls)); }

void client::set_ping(std::chrono::milliseconds idle, std::chrono::milliseconds answer) {
    impl_->set_ping(idle, answer);
}

client_counters client::counters() const { return impl_->counters(); }

awaitable<void> client::stop() { co_await impl_->stop(); }

}  // namespace cotrain::net
