// What validation finds: errors with the path of the field, in the API server's words, and warnings.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "api/jobset.hpp"
#include "api/trainjob.hpp"
#include "doc/tree.hpp"

namespace cotrain::runtime {

enum class fault : std::uint8_t { invalid, forbidden, required, unsupported, internal };

struct finding {
    fault what = fault::invalid;
    std::string path;    // "spec.trainer.env"; empty = `detail` says it all
    std::string value;   // JSON, with fault::invalid
    std::string detail;  // what must be

    // "spec.trainer.numNodes: Invalid value: 0: must be …"
    [[nodiscard]] std::string text() const;
    [[nodiscard]] bool operator==(const finding&) const = default;
};

// More findings are not listed, and values are shown up to this length: what a request gets as its answer is bounded
// while it is put together.
inline constexpr std::size_t findings_max = 64;
inline constexpr std::size_t finding_value_bytes_max = 1024;
inline constexpr std::size_t finding_text_bytes_max = 4096;  // of a path or a detail
inline constexpr std::string_view more_findings = "… and more";

// `errors` and `warnings` are for reading: who adds goes through the functions, which keep the bounds.
struct verdict {
    std::vector<finding> errors;
    std::vector<std::string> warnings;

    [[nodiscard]] bool accepted() const { return errors.empty(); }
    // Nothing more will be listed: loops that look for errors end.
    [[nodiscard]] bool full() const { return errors.size() > findings_max; }
    void add(finding f);
    void invalid(std::string path, doc::ref value, std::string detail);
    void invalid(std::string path, std::string_view text_value, std::string detail);
    void invalid(std::string path, std::int64_t value, std::string detail);
    void forbidden(std::string path, std::string detail);
    void warn(std::string_view text);
    // All errors as one message: alone as it is, several as "[a, b]".
    [[nodiscard]] std::string message() const;
};

// What is known of a PriorityClass that a runtime names.
enum class presence : std::uint8_t { unknown, exists, missing, unreadable };

struct known_class {
    std::string_view name;
    presence state = presence::unknown;
};

// A review of a TrainJob: what plugins' validate() gets beside the info of the runtime with the job's patches.
struct review {
    const api::train_job& job;
    const api::train_job* before = nullptr;  // on update
    const api::job_set* job_set = nullptr;   // the one of the job's name
    std::span<const known_class> priority_classes{};

    [[nodiscard]] bool creating() const { return before == nullptr; }
    // Whether rules that the reference does not have apply: on create and to what an update changes, never to an
    // object that is being deleted (contract, §6).
    [[nodiscard]] bool added_rules(bool changed) const { return !job.meta.deleting() && (creating() || changed); }
    // Whether the member of spec differs from before.
    [[nodiscard]] bool changed(std::string_view member) const;
};

// Equal, where nulls, empty lists and empty objects count as absent.
[[nodiscard]] bool means_the_same(doc::ref a, doc::ref b);

// Variables that a framework sets itself may not be in spec.trainer.env.
void refuse_reserved_env(doc::ref env, std::span<const std::string_view> reserved, verdict& out);

// No pod is ever made with less than nothing. `path` leads to `resources`.
void refuse_negative_amounts(doc::ref resources, std::string_view path, verdict& out);

}  // namespace cotrain::runtime
