// OpenSSL's view of our buffers: it reads where the fed bytes lie and writes into the outgoing queue.
#pragma once

#include <openssl/bio.h>

#include <string_view>

#include "base/byte_queue.hpp"

namespace cotrain::net::tls {

struct memory_ends {
    base::byte_queue kept;       // bytes that came before those of `fed` …
    std::string_view fed;        // … which are still the caller's
    base::byte_queue outgoing;   // towards the peer
    bool stopped = false;        // no more bytes are to be read: the peer went too far
    bool outgoing_full = false;  // outgoing_bytes_max was reached

    [[nodiscard]] std::size_t incoming() const { return kept.size() + fed.size(); }
};

// A BIO over `ends`, which must outlive it; nullptr without memory.
[[nodiscard]] BIO* make_memory_bio(memory_ends& ends);

}  // namespace cotrain::net::tls
