// What the page is sent, as structs with the names of the wire, and their JSON.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cotrain::ui {

// Seconds since 1970; 0: not known.
using unix_seconds = std::int64_t;

// One TrainJob in the list.
struct job_row {
    std::string id{};  // its uid
    std::string ns{};
    std::string name{};
    std::string runtime{};
    std::string queue{};  // Kueue's
    std::string state{};
    std::string message{};
    unix_seconds created = 0;
    unix_seconds started = 0;
    unix_seconds ended = 0;
    std::int64_t nodes = 0;
    std::int64_t ready = 0;
    std::int64_t restarts = 0;
    std::int64_t gpus = 0;
    double setMs = -1;  // from the TrainJob's event to that of its JobSet; -1: not both were seen live

    bool operator==(const job_row&) const = default;
};

struct state_count {
    std::string state;
    std::uint64_t count = 0;
};

// How the server stands with one kind that it watches.
struct source_row {
    std::string_view kind;
    std::string_view state;  // loading, synced, missing, forbidden, behind
    std::string_view error;  // why, for people
};

// One message of the feed. The rows of one snapshot come in several messages; the last of them is `complete`. Before
// them comes a message with a `head`, the jobs in each state, and the newest rows: enough for the first screen.
struct feed_message {
    bool reset = false;  // forget all rows first
    bool complete = false;
    std::string_view cluster;
    std::string_view ns;  // empty: all
    unix_seconds now = 0;
    std::optional<std::vector<state_count>> head;
    bool full = false;  // there are more jobs than are kept
    std::vector<source_row> sources;
    std::vector<const job_row*> rows;
    std::vector<std::string> gone;  // ids
};

struct condition_row {
    std::string of;  // TrainJob or JobSet
    std::string type;
    std::string status;
    std::string reason;
    std::string message;
    unix_seconds at = 0;
};

// One replicated job of the JobSet.
struct part_row {
    std::string name;
    std::string step;  // trainer, dataset-initializer, …; may be empty
    std::int64_t replicas = 0;
    std::int64_t pods = 0;  // of each replica
    std::int64_t ready = 0;
    std::int64_t active = 0;
    std::int64_t succeeded = 0;
    std::int64_t failed = 0;
    std::int64_t suspended = 0;
};

struct endpoint_row {
    std::string host;  // as Pods of its namespace call it
    std::string ports;
};

// What is known of one job from itself and its JobSet.
struct job_details {
    std::string id;
    std::string ns;
    std::string name;
    std::string runtimeKind;
    std::string runtime;
    std::string managedBy;
    std::string failures = "[]";  // status.failures as it is written
    unix_seconds setCreated = 0;
    std::vector<condition_row> conditions;
    std::vector<part_row> parts;
    std::vector<endpoint_row> endpoints;
    std::uint64_t endpointsLeftOut = 0;
    std::string setError;  // why there is nothing of a JobSet
};

struct pod_row {
    std::string name;
    std::string part;
    std::int64_t job = 0;    // index of the Job
    std::int64_t index = 0;  // completion index within the Job
    std::string phase;
    bool ready = false;
    bool deleting = false;
    std::int64_t restarts = 0;
    std::string node;
    std::string reason;  // why it waits or ended: ImagePullBackOff, OOMKilled, Unschedulable
    std::string message;
    std::int64_t exitCode = -1;  // -1: has not ended
    unix_seconds created = 0;
};

struct pod_list {
    std::vector<pod_row> pods;
    bool more = false;  // there are more than are shown
};

struct event_row {
    std::string type;
    std::string reason;
    std::string message;
    std::string about;  // Kind/name
    std::int64_t count = 1;
    unix_seconds at = 0;
};

struct event_list {
    std::vector<event_row> events;
    bool more = false;
};

struct child_row {
    std::string kind;
    std::string name;
    std::string which;  // what /api/object calls its kind
};

struct child_list {
    std::vector<child_row> children;
};

struct failure_row {
    std::string error;
};

[[nodiscard]] std::string to_json(const feed_message& m);
[[nodiscard]] std::string to_json(const job_details& m);
[[nodiscard]] std::string to_json(const pod_list& m);
[[nodiscard]] std::string to_json(const event_list& m);
[[nodiscard]] std::string to_json(const child_list& m);
[[nodiscard]] std::string to_json(const failure_row& m);

}  // namespace cotrain::ui
