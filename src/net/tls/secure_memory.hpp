// Where OpenSSL keeps private numbers and the PEM of keys that it reads.
#pragma once

#include <cstddef>

namespace cotrain::net::tls {

// Of address space; what is not used costs no memory. Each TLS connection keeps its ephemeral key there: it is enough
// for more connections than all servers of a process take together.
inline constexpr std::size_t secure_bytes = 4U << 20U;
inline constexpr std::size_t secure_bytes_of_connection_max = 512;

// To be called once, before the first key. Without it OpenSSL takes ordinary memory, which it wipes as well; with it
// the memory is between guard pages, left out of core dumps and, where the process may lock so much, never swapped.
// False: there is none, and ordinary memory serves.
bool use_secure_memory();

}  // namespace cotrain::net::tls
