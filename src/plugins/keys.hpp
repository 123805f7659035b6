// Key pairs of MPI and Flux jobs, and the texts that Secrets hold them as.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "runtime/object.hpp"

namespace cotrain::plugins {

// ZeroMQ's encoding (RFC 32/Z85): five characters for four bytes; their number must divide by four.
[[nodiscard]] std::string z85(std::string_view bytes);

// Fills the bytes with unpredictable ones; false if it cannot.
using byte_source = std::function<bool(std::span<unsigned char>)>;

// Random bytes fit for private keys, from OpenSSL.
[[nodiscard]] byte_source system_bytes();

// A new EC P-521 pair; the same bytes give the same pair.
[[nodiscard]] base::result<runtime::ssh_key> make_ssh_key(const byte_source& random);

// A new CURVE pair (X25519); the same bytes give the same pair.
[[nodiscard]] base::result<runtime::curve_key> make_curve_key(const byte_source& random);

}  // namespace cotrain::plugins
