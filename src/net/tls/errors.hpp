// OpenSSL's error codes in the words of those who have to act on them.
#pragma once

#include <openssl/x509.h>

#include <string>

#include "base/error.hpp"
#include "net/tls/link.hpp"

namespace cotrain::net::tls {

// At most this much of what a peer sent goes into one message.
inline constexpr std::size_t message_bytes_max = 1024;

// Empties OpenSSL's queue of errors; the reason given last, never empty.
[[nodiscard]] std::string take_reason();
// Whether the error queued last is that one; leaves the queue as it is.
[[nodiscard]] bool last_reason_is(int library, int reason);

// What a failed verification is about, from inside OpenSSL's callback.
[[nodiscard]] verify_failure describe(X509_STORE_CTX* verification);
// Why the connection failed, from the queue and from what is known about it. Empties the queue.
[[nodiscard]] base::error take_error(const link& connection);
// What it means that the peer's bytes ended here.
[[nodiscard]] base::error end_of_bytes(const link& connection);

}  // namespace cotrain::net::tls
