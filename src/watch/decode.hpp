// Watch lines, list pages and single objects as views: the members that are used, the rest skipped.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace cotrain::watch {

// --- values as they are written ------------------------------------------------------------------------------------

// A string as it is between its quotes: a view into the text, not to be kept longer.
struct json_text {
    std::string_view raw{};
    bool escapes = false;  // raw has backslashes

    [[nodiscard]] bool empty() const { return raw.empty(); }
    [[nodiscard]] bool is(std::string_view text) const;
    // The string that is meant: raw itself, or `scratch`, into which it is unescaped.
    [[nodiscard]] std::string_view value(std::string& scratch) const;
};

// Appends what a string between quotes means; false if its escapes are not JSON's.
bool append_unescaped(std::string& out, std::string_view raw);

// Any value as it is written; empty if it is absent or null.
struct json_raw : std::string_view {
    constexpr json_raw() = default;
    constexpr json_raw(std::string_view text) : std::string_view(text) {}
};

// --- any object ----------------------------------------------------------------------------------------------------

// The owner with `controller: true`; its uid is empty if nothing controls the object.
struct owner_view {
    json_text api_version{};
    json_text kind{};
    json_text name{};
    json_text uid{};
};

struct known_annotations {
    json_text num_proc{};
    json_text elastic{};
    json_text topology{};
    json_text kueue_elastic{};
    json_text initial_events_end{};  // "true": this bookmark ends the initial events of a WatchList
};
// Annotations as written, and those that the operator reads.
struct annotations_view : json_raw, known_annotations {};

struct meta_view {
    json_text name{};
    json_text ns{};
    json_text uid{};
    json_text resource_version{};
    json_text creation_time{};
    json_text deletion_time{};
    std::int64_t generation = 0;
    owner_view controller{};
    json_raw labels{};
    json_raw finalizers{};
    annotations_view annotations{};

    [[nodiscard]] bool deleting() const { return !deletion_time.empty(); }
};

// Views into the line or page: everything here dangles once that is gone.
struct object_view : meta_view {
    json_text api_version{};
    json_text kind{};
    json_raw spec{};
    json_raw status{};    // of a Status: the string "Failure"
    json_raw overhead{};  // of a RuntimeClass
    json_raw code{};      // of a Status, as the two below
    json_raw reason{};
    json_raw message{};
};

// --- the parts of TrainJobs and JobSets ----------------------------------------------------------------------------

// What is kept of one status, whatever its author wrote into it.
inline constexpr std::size_t conditions_max = 64;
inline constexpr std::size_t jobs_max = 100;                          // as the TrainJob's CRD has it
inline constexpr std::size_t job_name_bytes_max = 63;                 // Jobs are called after it
inline constexpr std::size_t condition_message_bytes_max = 1024;      // a longer one is cut, and ends in "…"
inline constexpr std::size_t condition_texts_bytes_max = 4UL << 10U;  // types, reasons and messages together

enum class truth : std::uint8_t { no, yes, unknown };

struct condition_view {
    json_text type{};
    json_text reason{};
    json_text message{};
    std::size_t message_kept = condition_message_bytes_max;  // at most so many bytes of it
    json_text last_transition_time{};
    truth status = truth::unknown;
};

// One entry of TrainJob's status.jobsStatus or JobSet's status.replicatedJobsStatus.
struct job_counts_view {
    json_text name{};
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;
};

struct status_lists {
    std::vector<condition_view> conditions;
    std::vector<job_counts_view> jobs;
    bool left_out = false;  // something was above a bound
};

struct runtime_ref_view {
    json_text name{};
    json_text kind{};
};

struct train_job_spec_view {
    runtime_ref_view runtime{};
    json_text managed_by{};
    bool suspend = false;
    std::int64_t active_deadline_seconds = 0;  // 0: none
    std::int64_t ttl_seconds = -1;             // spec.ttlSecondsAfterFinished; -1: none
};

struct node_counts_view {
    std::int32_t desired = 0;
    std::int32_t ready = 0;
};

struct train_job_status_view : status_lists {
    json_text snapshot_hash{};  // status.runtimeSnapshotHash
    json_text state{};
    json_text message{};
    json_text start_time{};
    std::int32_t restarts = -1;  // -1: not set
    std::optional<node_counts_view> nodes{};
    json_raw failures{};
};

struct job_set_spec_view {
    bool suspend = false;
};

struct job_set_status_view : status_lists {
    json_text terminal_state{};
    std::int32_t restarts = 0;
};

// The spec and status of one object. A part that is JSON but not what the kind should have (an older CRD let it in)
// does not spoil the object: `failure` says what is wrong ("spec: ... at byte 123"), and what comes before the mistake
// holds. The same of a status of which a part is left out. Reused from object to object, so that decoding allocates
// nothing in the long run.
template <class Spec, class Status>
struct object_parts {
    Spec spec;
    Status status;
    std::optional<base::error> failure;

    void clear();
};
using train_job_parts = object_parts<train_job_spec_view, train_job_status_view>;
using job_set_parts = object_parts<job_set_spec_view, job_set_status_view>;
// Which parts (never null) are read while an object is decoded: none, or those of its kind.
using parts_pointer = std::variant<std::monostate, train_job_parts*, job_set_parts*>;
// What is wrong with the parts that were read last; null if nothing is.
[[nodiscard]] const base::error* failure_of(const parts_pointer& parts);

// --- decoding ------------------------------------------------------------------------------------------------------

// Everything is JSON by the rules of base/json_text.hpp, but for what tenants may nest as deep as they like:
// managedFields are only skipped to their end, and a spec or status of more than 256 levels is not looked into, which
// is a failure of that part.

enum class event_type : std::uint8_t { added, modified, deleted, bookmark, error, unknown };

struct event_view {
    event_type type = event_type::unknown;
    object_view object{};
};

// One line of a watch: {"type": …, "object": …}. A decode error names the mistake and its byte.
[[nodiscard]] base::result<> decode_event(std::string_view line, event_view& out, parts_pointer parts = {});
[[nodiscard]] base::result<> decode_object(std::string_view object, object_view& out, parts_pointer parts = {});

// What a list page says besides its items.
struct page_trailer {
    std::string resource_version{};
    std::string continue_token{};  // empty: this was the last page
    std::int64_t remaining = 0;
};
// Calls `take` for each item of a list page in turn. An error also if this is no list, or one without a
// resourceVersion; the items before a mistake have been taken by then.
[[nodiscard]] base::result<page_trailer> decode_page(std::string_view page, parts_pointer parts,
                                                     const std::function<void(const object_view&)>& take);

// What an ERROR event or a body of kind Status says.
struct status_view {
    int code = 0;
    std::string reason{};
    std::string message{};
};
[[nodiscard]] status_view decode_status(const object_view& object);

// Whether a raw list has this string (finalizers).
[[nodiscard]] bool has_text(std::string_view raw_list, std::string_view text);
// The names of all runtime classes that a runtime's pod templates mention, each once.
[[nodiscard]] base::result<std::vector<json_text>> decode_runtime_classes(const object_view& runtime);

}  // namespace cotrain::watch
