// Key pairs with which an MPI launcher logs in to its nodes.
#pragma once

#include <functional>
#include <span>

#include "base/error.hpp"
#include "runtime/observed.hpp"

namespace cotrain::plugins {

// Fills the bytes with unpredictable ones; false if it cannot.
using byte_source = std::function<bool(std::span<unsigned char>)>;

// Random bytes fit for private keys, from OpenSSL.
[[nodiscard]] byte_source system_bytes();

// A new EC P-521 pair; the same bytes give the same pair.
[[nodiscard]] base::result<runtime::ssh_key> make_ssh_key(const byte_source& random);

}  // namespace cotrain::plugins
