#include "kube/request.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/json_text.hpp"

namespace cotrain::kube {

namespace {

// Every request asks for a few hundred bytes.
constexpr auto unreserved_bytes = [] {
    std::array<bool, 256> all{};
    for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"))
        all[static_cast<unsigned char>(c)] = true;
    return all;
}();

bool unreserved(char c) { return unreserved_bytes[static_cast<unsigned char>(c)]; }

void append_encoded(std::string& out, char c, std::string_view hex = "0123456789ABCDEF") {
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += hex[byte >> 4U];
    out += hex[byte & 0xFU];
}

// What is plain goes in runs: most texts are one.
template <class Plain>
void append_runs(std::string& out, std::string_view text, Plain plain) {
    while (!text.empty()) {
        const auto end = std::ranges::find_if_not(text, plain);
        out.append(text.begin(), end);
        text = {end, text.end()};
        if (text.empty()) break;
        append_encoded(out, text.front());
        text.remove_prefix(1);
    }
}

// What separates the parts of a path, and a query after it.
constexpr std::size_t path_room_bytes = 96;

// What the API server itself refuses as a segment, and what no name may hold.
std::string_view fault_of(std::string_view segment) {
    if (segment.empty()) return "is empty";
    if (segment == "." || segment == "..") return "may not be '.' or '..'";
    if (segment.size() > name_bytes_max) return "is longer than 253 bytes";
    for (const char c : segment) {
        if (c == '/' || c == '%') return "may not contain '/' or '%'";
        if (static_cast<unsigned char>(c) <= 0x20 || c == 0x7f) return "contains a space or a control character";
    }
    return {};
}

base::result<> append_checked(std::string& path, const resource& of, std::string_view what, std::string_view segment) {
    if (const std::string_view fault = fault_of(segment); !fault.empty())
        return base::fail(base::errc::invalid,
                          fmt::format("{} of {} {}: \"{}\"", what, of.kind, fault, base::one_line(segment, 80)));
    path += '/';
    append_segment(path, segment);
    return {};
}

void append_version(std::string& path, std::string_view group, std::string_view version) {
    path.append(group.empty() ? "/api" : "/apis/");
    append_segment(path, group);
    path += '/';
    append_segment(path, version);
}

constexpr std::string_view json_type = "application/json";

void add_header(net::request& http, std::string_view name, std::string_view value) {
    http.headers.emplace_back(std::string(name), std::string(value));
}

// The writer of a Secret knows what is in it: no answer to a write brings it back.
shape answer_to_write(const resource& of) {
    return of.group.empty() && of.plural == "secrets" ? shape::metadata : shape::whole;
}

void add_accept(net::request& http, shape as, bool list) {
    if (as == shape::whole)
        add_header(http, "accept", json_type);
    else
        add_header(http, "accept",
                   list ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
                        : "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1");
}

call start(std::string_view method, std::string path, net::priority rank, bool idempotent, const call_options& with) {
    call made;
    made.http.method = method;
    made.http.path = std::move(path);
    made.http.headers.reserve(6);
    made.http.rank = with.rank.value_or(rank);
    made.http.idempotent = idempotent;
    made.http.deadline = with.deadline;
    made.http.latest = with.latest;
    return made;
}

std::string attempt_of(std::string_view verb, const resource& of, const location& at) {
    std::string text;
    text.reserve(verb.size() + of.kind.size() + at.ns.size() + at.name.size() + at.sub_resource.size() + 8);
    text.append(verb) += ' ';
    append_description(text, of, at);
    return text;
}

base::result<std::string> object_path(std::string_view verb, const resource& of, const location& at) {
    if (at.name.empty()) return base::fail(base::errc::invalid, fmt::format("{} {}: a name is needed", verb, of.kind));
    auto path = path_of(of, at);
    if (!path) return base::fail(std::move(path).error().during(attempt_of(verb, of, at)));
    return path;
}

base::result<std::string> collection_path(std::string_view verb, const resource& of, std::string_view ns) {
    auto path = path_of(of, {.ns = ns});
    if (!path) return base::fail(std::move(path).error().during(attempt_of(verb, of, {.ns = ns})));
    return path;
}

void add_write_query(std::string& path, const write_options& options, bool force) {
    query_writer query(path);
    query.add("fieldManager", options.field_manager);
    if (force) query.add("force", "true");
    if (options.dry_run) query.add("dryRun", "All");
}

struct write_kind {
    std::string_view verb;
    std::string_view method;
    std::string_view content_type;
    bool idempotent;
    bool force = false;
};

base::result<call> write_object(const write_kind& kind, const resource& of, location at, std::string body,
                                const write_options& options) {
    at.sub_resource = options.sub_resource.empty() ? at.sub_resource : options.sub_resource;
    auto path = object_path(kind.verb, of, at);
    if (!path) return base::fail(std::move(path).error());
    add_write_query(*path, options, kind.force);
    call made =
        start(kind.method, std::move(*path), net::priority::write, kind.idempotent || options.dry_run, options.with);
    add_accept(made.http, answer_to_write(of), false);
    add_header(made.http, "content-type", kind.content_type);
    made.http.body = std::move(body);
    made.attempt = attempt_of(kind.verb, of, at);
    return made;
}

std::string_view to_string(propagation how) {
    switch (how) {
        case propagation::server_default: return {};
        case propagation::background: return "Background";
        case propagation::foreground: return "Foreground";
        case propagation::orphan: return "Orphan";
    }
    return {};
}

std::string delete_body(const delete_options& options) {
    std::string body = R"({"kind":"DeleteOptions","apiVersion":"v1")";
    if (const std::string_view how = to_string(options.dependents); !how.empty()) {
        body += R"(,"propagationPolicy":)";
        base::append_json_string(body, how);
    }
    if (options.grace_seconds) {
        body += R"(,"gracePeriodSeconds":)";
        base::append_json_number(body, *options.grace_seconds);
    }
    if (!options.uid.empty() || !options.resource_version.empty()) {
        body += R"(,"preconditions":{)";
        if (!options.uid.empty()) {
            body += R"("uid":)";
            base::append_json_string(body, options.uid);
        }
        if (!options.resource_version.empty()) {
            body += options.uid.empty() ? R"("resourceVersion":)" : R"(,"resourceVersion":)";
            base::append_json_string(body, options.resource_version);
        }
        body += '}';
    }
    if (options.dry_run) body += R"(,"dryRun":["All"])";
    body += '}';
    return body;
}

}  // namespace

void append_segment(std::string& out, std::string_view segment) {
    append_runs(out, segment, [](char c) { return unreserved(c) || c == ':' || c == '@'; });
}

void append_header_name(std::string& out, std::string_view name) {
    for (const char c : name) {
        if (unreserved(c) || std::string_view("!#$&'*+^`|").contains(c))
            out += c;
        else
            append_encoded(out, c, "0123456789abcdef");  // HTTP/2 knows no upper case in names
    }
}

void query_writer::add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    path_ += first_ ? '?' : '&';
    first_ = false;
    path_.append(key);
    path_ += '=';
    append_runs(path_, value, unreserved);
}

void query_writer::add(std::string_view key, long long value) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, value);
    add(key, std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
}

std::string version_path(std::string_view group, std::string_view version) {
    std::string path;
    append_version(path, group, version);
    return path;
}

base::result<std::string> path_of(const resource& of, const location& at) {
    if (!of.namespaced && !at.ns.empty())
        return base::fail(base::errc::invalid, fmt::format("{} is not namespaced, but a namespace was given", of.kind));
    if (of.namespaced && at.ns.empty() && !at.name.empty())
        return base::fail(base::errc::invalid, fmt::format("{} needs a namespace", of.kind));
    if (at.name.empty() && !at.sub_resource.empty())
        return base::fail(base::errc::invalid, fmt::format("a sub-resource of {} needs a name", of.kind));
    std::string path;
    path.reserve(of.group.size() + of.version.size() + at.ns.size() + of.plural.size() + at.name.size() +
                 at.sub_resource.size() + path_room_bytes);
    append_version(path, of.group, of.version);
    if (!at.ns.empty()) {
        path += "/namespaces";
        if (auto ok = append_checked(path, of, "namespace", at.ns); !ok) return base::fail(std::move(ok).error());
    }
    path += '/';
    append_segment(path, of.plural);
    if (!at.name.empty())
        if (auto ok = append_checked(path, of, "name", at.name); !ok) return base::fail(std::move(ok).error());
    if (!at.sub_resource.empty())
        if (auto ok = append_checked(path, of, "sub-resource", at.sub_resource); !ok)
            return base::fail(std::move(ok).error());
    return path;
}

void append_description(std::string& text, const resource& of, const location& at) {
    text.append(of.kind);
    if (at.name.empty()) {
        if (!at.ns.empty()) text.append(" in ").append(at.ns);
        return;
    }
    text += ' ';
    if (!at.ns.empty()) text.append(at.ns).append("/");
    text.append(at.name);
    if (!at.sub_resource.empty()) text.append("/").append(at.sub_resource);
}

std::string describe(const resource& of, const location& at) {
    std::string text;
    append_description(text, of, at);
    return text;
}

base::result<call> build_get(const resource& of, const location& at, const get_options& options) {
    auto path = object_path("get", of, at);
    if (!path) return base::fail(std::move(path).error());
    query_writer(*path).add("resourceVersion", options.resource_version);
    call made = start("GET", std::move(*path), net::priority::read, true, options.with);
    add_accept(made.http, options.as, false);
    made.attempt = attempt_of("get", of, at);
    return made;
}

base::result<call> build_list(const resource& of, std::string_view ns, const list_options& options) {
    auto path = collection_path("list", of, ns);
    if (!path) return base::fail(std::move(path).error());
    query_writer query(*path);
    query.add("labelSelector", options.label_selector);
    query.add("fieldSelector", options.field_selector);
    query.add("resourceVersion", options.resource_version);
    query.add("resourceVersionMatch", options.resource_version_match);
    if (options.limit != 0) query.add("limit", static_cast<long long>(options.limit));
    query.add("continue", options.continue_token);
    call made = start("GET", std::move(*path), net::priority::read, true, options.with);
    add_accept(made.http, options.as, true);
    made.attempt = attempt_of("list", of, {.ns = ns});
    return made;
}

base::result<call> build_watch(const resource& of, std::string_view ns, const watch_options& options) {
    auto path = collection_path("watch", of, ns);
    if (!path) return base::fail(std::move(path).error());
    query_writer query(*path);
    query.add("watch", "1");
    query.add("labelSelector", options.label_selector);
    query.add("fieldSelector", options.field_selector);
    query.add("resourceVersion", options.resource_version);
    if (options.send_initial_events) {
        query.add("resourceVersionMatch", "NotOlderThan");
        query.add("sendInitialEvents", "true");
    }
    if (options.bookmarks || options.send_initial_events) query.add("allowWatchBookmarks", "true");
    query.add("timeoutSeconds", static_cast<long long>(options.timeout.count()));
    call made = start("GET", std::move(*path), net::priority::watch, true, options.with);
    add_accept(made.http, options.as, false);
    made.attempt = attempt_of("watch", of, {.ns = ns});
    return made;
}

base::result<call> build_create(const resource& of, std::string_view ns, std::string body,
                                const write_options& options) {
    if (of.namespaced && ns.empty())
        return base::fail(base::errc::invalid, fmt::format("create {}: a namespace is needed", of.kind));
    auto path = collection_path("create", of, ns);
    if (!path) return base::fail(std::move(path).error());
    add_write_query(*path, options, false);
    call made = start("POST", std::move(*path), net::priority::write, options.dry_run, options.with);
    add_accept(made.http, answer_to_write(of), false);
    add_header(made.http, "content-type", json_type);
    made.http.body = std::move(body);
    made.attempt = attempt_of("create", of, {.ns = ns});
    return made;
}

base::result<call> build_update(const resource& of, const location& at, std::string body,
                                const write_options& options) {
    return write_object({"update", "PUT", json_type, true}, of, at, std::move(body), options);
}

base::result<call> build_apply(const resource& of, const location& at, std::string body, bool force,
                               const write_options& options) {
    if (options.field_manager.empty())
        return base::fail(base::errc::invalid,
                          fmt::format("{}: a field manager is needed", attempt_of("apply", of, at)));
    return write_object({"apply", "PATCH", "application/apply-patch+yaml", true, force}, of, at, std::move(body),
                        options);
}

base::result<call> build_merge_patch(const resource& of, const location& at, std::string body,
                                     const write_options& options) {
    return write_object({"patch", "PATCH", "application/merge-patch+json", true}, of, at, std::move(body), options);
}

base::result<call> build_json_patch(const resource& of, const location& at, std::string body,
                                    const write_options& options) {
    return write_object({"patch", "PATCH", "application/json-patch+json", false}, of, at, std::move(body), options);
}

base::result<call> build_delete(const resource& of, const location& at, const delete_options& options) {
    auto path = object_path("delete", of, at);
    if (!path) return base::fail(std::move(path).error());
    call made =
        start("DELETE", std::move(*path), net::priority::write, options.dry_run || !options.uid.empty(), options.with);
    add_accept(made.http, answer_to_write(of), false);
    add_header(made.http, "content-type", json_type);
    made.http.body = delete_body(options);
    made.attempt = attempt_of("delete", of, at);
    return made;
}

call build_discovery(std::string_view group, std::string_view version, const call_options& with) {
    call made = start("GET", version_path(group, version), net::priority::read, true, with);
    add_accept(made.http, shape::whole, false);
    made.attempt = fmt::format("discover {}{}{}", group, group.empty() ? "" : "/", version);
    return made;
}

call build_server_version(const call_options& with) {
    call made = start("GET", "/version", net::priority::read, true, with);
    add_accept(made.http, shape::whole, false);
    made.attempt = "ask for the server's version";
    return made;
}

}  // namespace cotrain::kube
