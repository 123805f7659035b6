// Our own authority and serving certificate: judging what there is, making what is missing. Time is passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace cotrain::serve {

using wall_time = std::chrono::sys_seconds;

// PEM texts under the names of the secret's keys.
struct certificate_set {
    std::string ca_crt;  // the authority that signs, first; one that is being replaced after it
    std::string ca_key;  // PKCS#1, which the reference can read, too
    std::string tls_crt;
    std::string tls_key;
    bool operator==(const certificate_set&) const = default;
};

// Whom the serving certificate is for; the first host is needed, the others may be missing in one that exists.
struct certificate_names {
    std::vector<std::string> hosts;
    std::vector<std::string> addresses{};
};

inline constexpr std::chrono::days authority_days{3650};
inline constexpr std::chrono::days serving_days{365};
// A certificate is replaced this long before it expires.
inline constexpr std::chrono::days renew_days{90};
// Clocks of a cluster differ: certificates begin to be valid this long before they are made.
inline constexpr std::chrono::hours backdate{1};

enum class standing : std::uint8_t {
    good,
    renew_serving,  // the authority is good and can sign
    renew_all
};

struct judgement {
    standing what = standing::renew_all;
    std::string why;       // of a renewal, for the log
    wall_time renew_at{};  // of a good set
};

[[nodiscard]] judgement judge(const certificate_set& set, const certificate_names& names, wall_time now);
// A set that is good. With a new authority the old one, if it is still valid, stays in ca_crt: who has the old bundle
// or serves the old certificate goes on.
[[nodiscard]] base::result<certificate_set> renew(const certificate_set& old, standing what,
                                                  const certificate_names& names, wall_time now);

}  // namespace cotrain::serve
