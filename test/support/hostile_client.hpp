// A client that keeps to no rule: whatever bytes it likes, over TCP or TLS, and then silence. It blocks its thread.
#pragma once

#include <openssl/types.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace cotrain::test {

class hostile_client {
   public:
    enum class over : std::uint8_t { tcp, tls };
    // Connects to loopback; over TLS it offers these protocols (ALPN, wire format, may be empty) and at most `version`.
    hostile_client(std::uint16_t port, over what, std::string_view protocols = {}, int version = 0);
    ~hostile_client();
    hostile_client(hostile_client&& other) noexcept;
    hostile_client& operator=(hostile_client&&) = delete;

    [[nodiscard]] bool connected() const { return ready_; }
    // False when the peer has closed.
    bool send(std::string_view bytes);
    // All that comes until the peer closes; what came so far when the time is up, see closed().
    [[nodiscard]] std::string read_all(std::chrono::seconds within);
    [[nodiscard]] bool closed() const { return closed_; }

   private:
    int socket_ = -1;
    SSL_CTX* context_ = nullptr;
    SSL* tls_ = nullptr;
    bool ready_ = false;
    bool closed_ = false;
};

}  // namespace cotrain::test
