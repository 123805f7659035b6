// Requests to the API server as values: every verb's builder, without I/O.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "kube/resource.hpp"
#include "net/http.hpp"

namespace cotrain::kube {

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
