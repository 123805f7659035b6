// A TCP connection with TLS on it, or without: plaintext in and out, one reader and one writer at a time.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/asio.hpp"
#include "base/byte_queue.hpp"
#include "base/error.hpp"
#include "net/tls/engine.hpp"

namespace cotrain::net {

class transport {
   public:
    struct sizes {
        std::size_t read_bytes;          // what one read asks the kernel for …
        std::size_t burst_read_bytes;    // … after one that was filled
        std::size_t read_retain_bytes;   // what stays allocated for reading between bursts
        std::size_t write_retain_bytes;  // … and for writing
    };
    // For the few connections of a client; what stays for reading is one read, and a record that began before it.
    static constexpr sizes generous{64U << 10U, 64U << 10U, (64U << 10U) + (16U << 10U), 512U << 10U};
    // For the many of a server.
    static constexpr sizes lean{16U << 10U, 64U << 10U, 4U << 10U, 4U << 10U};

    transport(asio::ip::tcp::socket socket, std::optional<tls::engine> secured, sizes buffers = generous);

    // Completes the TLS handshake; returns at once without TLS.
    [[nodiscard]] awaitable<base::result<>> handshake();
    // Appends what has come; false at the peer's orderly end. Bytes for the peer may be due afterwards: owes().
    [[nodiscard]] awaitable<base::result<bool>> read(base::byte_queue* plaintext);
    // Sends all of `plaintext`, and whatever TLS itself has to say, in as few system calls as the kernel takes.
    [[nodiscard]] awaitable<base::result<>> write(base::byte_queue* plaintext);
    // The same without a coroutine, as far as the kernel takes it at once; false when there is a rest to write.
    [[nodiscard]] base::result<bool> write_now(base::byte_queue* plaintext);
    [[nodiscard]] awaitable<base::result<>> write_rest();
    // From now on nothing is sent after that moment: writes fail then.
    void send_by(std::chrono::steady_clock::time_point latest) { latest_ = latest; }
    // TLS has something to say although nobody wrote: a writer should call write().
    [[nodiscard]] bool owes() const;

    // Says that nothing more will be written; reading goes on.
    [[nodiscard]] awaitable<void> finish_writing();
    // Ends reading and writing at once; both return `lost`.
    void close();
    [[nodiscard]] std::string_view protocol() const;
    [[nodiscard]] const tls::engine* secured() const { return secured_ ? &*secured_ : nullptr; }

    std::uint64_t bytes_in = 0, bytes_out = 0, reads = 0, writes = 0;

   private:
    [[nodiscard]] base::result<bool> send(base::byte_queue& bytes);

    asio::ip::tcp::socket socket_;
    std::optional<tls::engine> secured_;
    std::chrono::steady_clock::time_point latest_ = std::chrono::steady_clock::time_point::max();
    bool unread_ = false;  // the engine has more to say: data after its handshake, or the peer's end after data
    sizes sizes_;
    std::size_t read_bytes_;  // of the next read
    base::byte_queue received_;
    base::byte_queue sending_;  // stable while the kernel takes from it, whatever the engine appends meanwhile
};

}  // namespace cotrain::net
