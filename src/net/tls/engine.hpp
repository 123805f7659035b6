// TLS as a state machine over memory: ciphertext and plaintext in, plaintext and ciphertext out; no socket.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/byte_queue.hpp"
#include "base/error.hpp"
#include "net/tls/context.hpp"

namespace cotrain::net::tls {

// Ciphertext that was fed and not yet read.
inline constexpr std::size_t incoming_bytes_max = 4U << 20U;
// Ciphertext that the peer has not taken yet.
inline constexpr std::size_t outgoing_bytes_max = 16U << 20U;
// Tickets and key updates a peer may send: this many at once, and one more for each MiB of data.
inline constexpr unsigned post_handshake_messages_burst = 32;

// An error is final: every later call repeats it. What outgoing() holds then is the alert that tells the peer.
class engine {
   public:
    // Client: `server_name` is verified against the certificate (a name or an address) and sent as SNI if a name.
    engine(std::shared_ptr<const context> keys, std::string server_name);
    // Server.
    explicit engine(std::shared_ptr<const context> keys);
    ~engine();
    engine(engine&&) noexcept;
    engine& operator=(engine&&) noexcept;

    // Advances the handshake; true when it is complete. Call after every feed() until then, and once to start.
    // What was fed may reach past the handshake: call read() once it is complete.
    [[nodiscard]] base::result<bool> handshake();
    // Ciphertext from the peer. It is not copied: it must stay where it is until handshake() or read() has returned.
    [[nodiscard]] base::result<> feed(std::string_view ciphertext);
    // Appends plaintext that has arrived; false at the peer's close_notify once all was read.
    [[nodiscard]] base::result<bool> read(base::byte_queue& plaintext);
    // Encrypts all of `plaintext`; the result is in outgoing().
    [[nodiscard]] base::result<> write(std::string_view plaintext);
    // Says goodbye (close_notify); nothing can be written after it.
    void close();
    // What it means that the peer's bytes ended before its close_notify.
    [[nodiscard]] base::error truncated() const;

    // Ciphertext for the peer; the caller consumes what it sent.
    [[nodiscard]] base::byte_queue& outgoing();

    [[nodiscard]] std::string_view protocol() const;  // what ALPN chose; empty if nothing
    [[nodiscard]] bool resumed() const;
    [[nodiscard]] std::string peer_subject() const;  // empty without a peer certificate

   private:
    struct impl;
    std::unique_ptr<impl> impl_;
};

}  // namespace cotrain::net::tls
