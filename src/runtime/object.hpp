// Objects to be applied, those that are there, and how large they may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/jobset.hpp"
#include "api/names.hpp"
#include "api/trainjob.hpp"
#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/edit.hpp"

namespace cotrain::runtime {

// Pods of one TrainJob: what a PodGroup can count.
inline constexpr std::int64_t pods_max = std::numeric_limits<std::int32_t>::max();
// JSON of an object: the API server reads no larger request.
inline constexpr std::size_t object_bytes_max = 3UL * 1024 * 1024;

// An error if the memory of a plan did not do.
[[nodiscard]] base::result<> check_memory(const doc::arena& memory);

[[nodiscard]] inline std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
    std::uint64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<std::uint64_t>::max() : sum;
}

[[nodiscard]] constexpr bool same_type(const api::resource_type& a, const api::resource_type& b) {
    return a.kind == b.kind && a.group == b.group;
}

// Server-side apply sends `json` as it is.
struct object {
    const api::resource_type* type = nullptr;
    std::string name;
    std::string json;
    std::string_view manager = api::names::field_manager;  // who applies it
};

using object_list = std::vector<object>;

// Type, name, namespace and the owner reference to the job. A job from a file has no uid yet, and owns nothing: the
// API server refuses references without one.
[[nodiscard]] doc::editor new_child(doc::arena& memory, const api::resource_type& type, std::string_view name,
                                    const api::train_job& job);
// Its JSON; of one that is too large the beginning, which refuse_oversized() refuses.
[[nodiscard]] object finish(const api::resource_type& type, std::string_view name, const doc::editor& document);

// The name of a child: the job's and a suffix.
[[nodiscard]] std::string child_name(const api::train_job& job, std::string_view suffix);

// Data of a ConfigMap or Secret may hold that much (MaxSecretSize of the API server).
inline constexpr std::size_t config_bytes_max = 1024UL * 1024;

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
    // The JobSet of the job's name, whichever controller owns it. Where it is the job's and its spec is known, all
    // other children are about its pods.
    const api::job_set* job_set = nullptr;
    // Plans go on where children are foreign: the reconciler refuses to apply each of these by itself.
    bool foreign_later = false;
    std::string_view ca_certificate;  // PEM of the status server's CA; only with gate TrainJobStatus
    // Makes a key when one is needed; only for MPI. Randomness comes from outside.
    std::function<base::result<ssh_key>()> make_ssh_key;
    std::function<base::result<curve_key>()> make_curve_key;  // only for Flux

    // A kind in the version of its API that the API server has, of those that its child declares; null: it has none.
    // Without this function the newest is there.
    std::function<const api::resource_type*(const api::resource_type& newest)> served;

    [[nodiscard]] const api::resource_type* served_as(const api::resource_type& newest) const {
        return served ? served(newest) : &newest;
    }
    [[nodiscard]] child_state state_of(const api::resource_type& type, std::string_view name) const;
};

}  // namespace cotrain::runtime
