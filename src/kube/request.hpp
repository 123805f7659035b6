// Verbs as requests: resources and their paths, queries, and a builder for each verb. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "net/http.hpp"

namespace cotrain::kube {

// Which kind of object a request is about, and the path where the API server keeps it.

// Meant for constants: the texts must outlive every use.
struct resource {
    std::string_view group;  // empty: the core group
    std::string_view version;
    std::string_view plural;
    std::string_view kind;  // for messages
    bool namespaced = true;
};

inline constexpr std::size_t name_bytes_max = 253;  // of objects; label-like names are shorter still

// One object, or without a name the collection: of one namespace, or without a namespace of the whole cluster.
struct location {
    std::string_view ns{};
    std::string_view name{};
    std::string_view sub_resource{};
};

// Refuses what could leave its place in the path: empty names of objects, ".", "..", '/', '%', control bytes.
[[nodiscard]] base::result<std::string> path_of(const resource& of, const location& at);
// "/api/v1" or "/apis/<group>/<version>".
[[nodiscard]] std::string version_path(std::string_view group, std::string_view version);
// "JobSet ns/name", "JobSet ns/name/status", "JobSet in ns", "JobSet": for messages.
[[nodiscard]] std::string describe(const resource& of, const location& at);
void append_description(std::string& text, const resource& of, const location& at);

// Percent-encoding of what goes into paths and queries.

// Appends `segment` as one segment of a path (RFC 3986 pchar; a slash inside is encoded).
void append_segment(std::string& out, std::string_view segment);

// Appends a header name; what may not be in one is percent-encoded.
void append_header_name(std::string& out, std::string_view name);

// Appends "?key=value" or "&key=value" pairs to a path; empty values are left out.
class query_writer {
   public:
    explicit query_writer(std::string& path) : path_(path) {}
    void add(std::string_view key, std::string_view value);
    void add(std::string_view key, long long value);

   private:
    std::string& path_;
    bool first_ = true;
};

// Requests to the API server as values: every verb's builder, without I/O.

// One request and what to call it in messages. The client adds credentials, user agent and the server's base path.
struct call {
    net::request http;
    std::string attempt;  // "apply JobSet ns/name"
};

// Every options struct is read while the request is built; its views need to live no longer.
// `rank` absent: watch and read go before writes. Lease renewals name priority::lease. `deadline` zero: the client's.
struct call_options {
    std::optional<net::priority> rank{};
    std::chrono::milliseconds deadline{0};
    std::chrono::steady_clock::time_point latest = std::chrono::steady_clock::time_point::max();  // see net::request
};

// Whole objects, or only their metadata (PartialObjectMetadata).
enum class shape : std::uint8_t { whole, metadata };

struct get_options {
    std::string_view resource_version{};  // "0": from the server's cache
    shape as = shape::whole;
    call_options with{};
};

struct list_options {
    std::string_view label_selector{};
    std::string_view field_selector{};
    std::string_view resource_version{};
    std::string_view resource_version_match{};  // "NotOlderThan" or "Exact"
    std::uint32_t limit = 0;                    // 0: all in one answer
    std::string_view continue_token{};
    shape as = shape::whole;
    call_options with{};
};

struct watch_options {
    std::string_view label_selector{};
    std::string_view field_selector{};
    std::string_view resource_version{};
    bool bookmarks = true;
    bool send_initial_events = false;   // WatchList (KEP-3157); implies bookmarks and NotOlderThan
    std::chrono::seconds timeout{290};  // the server ends the watch after this; it is never unlimited
    shape as = shape::whole;
    call_options with{};
};

struct write_options {
    std::string_view field_manager{};
    bool dry_run = false;
    std::string_view sub_resource{};  // "status"
    call_options with{};
};

enum class propagation : std::uint8_t { server_default, background, foreground, orphan };

struct delete_options {
    propagation dependents = propagation::server_default;
    std::optional<std::int64_t> grace_seconds{};
    std::string_view uid{};               // preconditions: delete this very object …
    std::string_view resource_version{};  // … in this very state
    bool dry_run = false;
    call_options with{};
};

[[nodiscard]] base::result<call> build_get(const resource& of, const location& at, const get_options& options);
[[nodiscard]] base::result<call> build_list(const resource& of, std::string_view ns, const list_options& options);
[[nodiscard]] base::result<call> build_watch(const resource& of, std::string_view ns, const watch_options& options);

// Not idempotent, unless it is a dry run: a repeat could make a second object or report a clash with the first.
[[nodiscard]] base::result<call> build_create(const resource& of, std::string_view ns, std::string body,
                                              const write_options& options);
// PUT of the whole object. A repeat of one that carries a resourceVersion and was processed ends in a 409.
[[nodiscard]] base::result<call> build_update(const resource& of, const location& at, std::string body,
                                              const write_options& options);
// Server-side apply (KEP-555): `body` is JSON, which YAML contains; `force` takes fields from other managers.
// `options.field_manager` must be set.
[[nodiscard]] base::result<call> build_apply(const resource& of, const location& at, std::string body, bool force,
                                             const write_options& options);
// RFC 7386: sets the same values however often it is sent, so it counts as idempotent.
[[nodiscard]] base::result<call> build_merge_patch(const resource& of, const location& at, std::string body,
                                                   const write_options& options);
// RFC 6902: an "add" to a list does not bear repetition, so it does not count as idempotent.
[[nodiscard]] base::result<call> build_json_patch(const resource& of, const location& at, std::string body,
                                                  const write_options& options);
// Idempotent only with a uid: by name alone a repeat could delete a successor of the same name.
[[nodiscard]] base::result<call> build_delete(const resource& of, const location& at, const delete_options& options);

// What a version of a group serves (APIResourceList); 404 when there is no such group or version.
[[nodiscard]] call build_discovery(std::string_view group, std::string_view version, const call_options& with);
[[nodiscard]] call build_server_version(const call_options& with);

}  // namespace cotrain::kube
