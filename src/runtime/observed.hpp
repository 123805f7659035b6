// What is known of the cluster when a plan is made: reads enter the framework as data.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "api/jobset.hpp"
#include "api/names.hpp"
#include "base/error.hpp"

namespace cotrain::runtime {

// An object of the name that a child needs: controlled by this TrainJob (its UID counts), or by nobody or another, or
// made beforehand by the user and used as it is (runtime/guards.hpp).
enum class child_state : std::uint8_t { absent, ours, foreign, premade };

struct observed_child {
    const api::resource_type* type = nullptr;
    std::string_view name;
    child_state state = child_state::absent;
};

// A key pair for ssh: PEM (SEC1) and a line for authorized_keys, newline included.
struct ssh_key {
    std::string private_pem;
    std::string public_line;
};

// A key pair for ZeroMQ's CURVE, in Z85.
struct curve_key {
    std::string public_text;
    std::string secret_text;
};

struct observed {
    std::span<const observed_child> children;  // those not listed are absent
    // The JobSet of the job's name, whoever controls it. Where it is the job's and its spec is known, all other
    // children are about its pods.
    const api::job_set* job_set = nullptr;
    // Plans go on where children are foreign: the reconciler refuses to apply each of these by itself.
    bool foreign_later = false;
    std::string_view ca_certificate;  // PEM of the status server's CA; only with gate TrainJobStatus
    // Makes a key when one is needed; only for MPI. Randomness comes from outside.
    std::function<base::result<ssh_key>()> make_ssh_key;
    std::function<base::result<curve_key>()> make_curve_key;  // only for Flux

    [[nodiscard]] child_state state_of(const api::resource_type& type, std::string_view name) const;
};

}  // namespace cotrain::runtime
