// What becomes of a request whose attempt ended without an answer: a pure decision.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/h2/session.hpp"

namespace cotrain::net {

struct attempt {
    h2::ending how = h2::ending::lost;
    std::uint32_t code = 0;   // HTTP/2 error code, with reset
    std::string_view detail;  // for humans
    bool idempotent = false;
    bool answered = false;  // the response had begun
    unsigned made = 1;      // attempts so far, this one included
    unsigned repeats_max = 0;
};

// Whether the request may and should be sent again.
[[nodiscard]] bool should_repeat(const attempt& a);
// The error for a request that is not repeated; says whether the peer may have processed it.
[[nodiscard]] base::error explain(const attempt& a, std::string_view peer);

}  // namespace cotrain::net
