// Moving bytes between socket, TLS engine and the caller.
#include "net/transport.hpp"

#include <boost/asio/buffer.hpp>
#include <utility>

namespace cotrain::net {

namespace {

base::error lost(std::string_view doing, const boost::system::error_code& why) {
    return base::make_error(base::errc::lost, why.message()).during(doing);
}

std::unexpected<base::error> held_up() {
    return base::fail(base::errc::lost, "the process was held up until a request could not go out any more");
}

// Nothing was asked of the peer yet, so any request that waits may be tried again.
base::error unreached(std::string_view why) {
    std::string text = "TLS handshake: ";
    return base::make_error(base::errc::connect, text.append(why));
}

// Registers the socket with the event loop anew: Asio watches a socket that was connected asynchronously for
// writability, too, and each time the kernel has sent something the loop would wake for nothing.
asio::ip::tcp::socket registered_for_reading(asio::ip::tcp::socket socket) {
    boost::system::error_code error;  // a socket that is no longer open says so when it is used
    const auto protocol = socket.local_endpoint(error).protocol();
    if (error) return socket;
    asio::ip::tcp::socket fresh(socket.get_executor());
    const auto handle = socket.release(error);
    if (error) return socket;
    fresh.assign(protocol, handle, error);
    fresh.non_blocking(true, error);
    return fresh;
}

}  // namespace

transport::transport(asio::ip::tcp::socket socket, std::optional<tls::engine> secured, sizes buffers)
    : socket_(registered_for_reading(std::move(socket))),
      secured_(std::move(secured)),
      sizes_(buffers),
      read_bytes_(buffers.read_bytes),
      received_(buffers.read_bytes),
      sending_(buffers.write_retain_bytes) {}

awaitable<base::result<>> transport::handshake() {
    if (!secured_) co_return base::result<>{};
    for (;;) {
        auto done = secured_->handshake();
        // Also on failure: the peer should receive the alert that says why.
        const auto sent = send(secured_->outgoing());
        const auto rest = sent && !*sent ? co_await write_rest() : base::result<>{};
        if (!done) co_return base::fail(std::move(done).error());
        if (!sent || !rest) co_return base::fail(unreached((sent ? rest.error() : sent.error()).message));
        if (*done) {
            unread_ = true;
            co_return base::result<>{};
        }
        auto room = received_.prepare(read_bytes_);
        auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), use_tuple);
        if (error == asio::error::eof) co_return base::fail(secured_->truncated());
        if (error) co_return base::fail(unreached(error.message()));
        auto fed = secured_->feed({room.data(), bytes});
        if (!fed) co_return base::fail(std::move(fed).error());
    }
}

// What was read before may be taken out of `plaintext` while this waits, which moves or frees its memory: the socket
// writes into a buffer of our own, and only what one step brings counts as growth.
awaitable<base::result<bool>> transport::read(base::byte_queue* plaintext) {
    std::size_t before = plaintext->size();
    if (std::exchange(unread_, false)) {  // what the read before brought along
        auto open = secured_->read(*plaintext);
        if (!open) co_return base::fail(std::move(open).error());
        if (!*open) co_return false;
        if (plaintext->size() != before) co_return true;
    }
    for (;;) {
        if (read_bytes_ < received_.capacity()) received_.clear();  // gives back what a burst needed
        auto room = received_.prepare(read_bytes_);
        auto [error, bytes] = co_await socket_.async_read_some(asio::buffer(room.data(), room.size()), use_tuple);
        ++reads;
        if (error == asio::error::eof) {
            if (!secured_) co_return false;
            co_return base::fail(secured_->truncated());
        }
        if (error) co_return base::fail(lost("read", error));
        bytes_in += bytes;
        read_bytes_ = bytes == room.size() ? sizes_.burst_read_bytes : sizes_.read_bytes;
        if (!secured_) {
            plaintext->append({room.data(), bytes});
            co_return true;
        }
        if (auto fed = secured_->feed({room.data(), bytes}); !fed) co_return base::fail(std::move(fed).error());
        before = plaintext->size();
        auto open = secured_->read(*plaintext);
        if (!open) co_return base::fail(std::move(open).error());
        const bool grew = plaintext->size() != before;
        if (!*open && !grew) co_return false;
        unread_ = !*open;
        if (grew || owes()) co_return true;
    }
}

awaitable<base::result<>> transport::write(base::byte_queue* plaintext) {
    const auto sent = write_now(plaintext);
    if (!sent) co_return base::fail(sent.error());
    if (*sent) co_return base::result<>{};
    co_return co_await write_rest();
}

base::result<bool> transport::write_now(base::byte_queue* plaintext) {
    if (!secured_) return send(*plaintext);
    if (auto taken = secured_->write(plaintext->view()); !taken) return base::fail(std::move(taken).error());
    plaintext->clear();
    return send(secured_->outgoing());
}

awaitable<base::result<>> transport::write_rest() {
    base::byte_queue none;
    for (;;) {
        auto [waited] = co_await socket_.async_wait(asio::ip::tcp::socket::wait_write, use_tuple);
        if (waited) co_return base::fail(lost("write", waited));
        const auto sent = send(secured_ ? secured_->outgoing() : none);
        if (!sent) co_return base::fail(sent.error());
        if (*sent) co_return base::result<>{};
    }
}

// Straight to the kernel, without a turn of the loop: waiting is the exception. False when the kernel takes no more.
base::result<bool> transport::send(base::byte_queue& bytes) {
    while (!bytes.empty() || !sending_.empty()) {
        if (sending_.empty()) sending_.swap(bytes);
        const std::string_view chunk = sending_.view();
        if (latest_ != std::chrono::steady_clock::time_point::max() && std::chrono::steady_clock::now() > latest_)
            return held_up();
        boost::system::error_code error;
        const std::size_t sent = socket_.write_some(asio::buffer(chunk.data(), chunk.size()), error);
        ++writes;
        if (error == asio::error::would_block) return false;
        if (error) return base::fail(lost("write", error));
        bytes_out += sent;
        sending_.consume(sent);
    }
    return true;
}

bool transport::owes() const { return secured_ && !const_cast<tls::engine&>(*secured_).outgoing().empty(); }

awaitable<void> transport::finish_writing() {
    if (secured_) {
        secured_->close();
        const auto sent = send(secured_->outgoing());
        if (sent && !*sent) static_cast<void>(co_await write_rest());
    }
    boost::system::error_code ignored;
    socket_.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
}

void transport::close() {
    boost::system::error_code ignored;
    socket_.close(ignored);
}

std::string_view transport::protocol() const { return secured_ ? secured_->protocol() : std::string_view{}; }

}  // namespace cotrain::net
