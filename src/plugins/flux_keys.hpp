// The key pair of a job's Flux brokers: they encrypt what they send each other, and take in nobody without it.
#pragma once

#include "base/error.hpp"
#include "plugins/mpi_keys.hpp"
#include "runtime/observed.hpp"

namespace cotrain::plugins {

// A new CURVE pair (X25519); the same bytes give the same pair.
[[nodiscard]] base::result<runtime::curve_key> make_curve_key(const byte_source& random);

}  // namespace cotrain::plugins
