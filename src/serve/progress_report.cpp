// Reading a report field by field; ranges and lengths are the API server's to judge.
#include "serve/progress_report.hpp"

#include <algorithm>

#include "api/decode.hpp"
#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/names.hpp"

namespace cotrain::serve {

namespace {

using api::editor;
using api::place;

constexpr std::string_view blanks = " \t";
constexpr unsigned report_depth_max = 32;

// A segment that needs no decoding.
bool plain(std::string_view segment) {
    return !segment.empty() && std::ranges::all_of(segment, [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
    });
}

bool take(std::string_view& path, std::string_view prefix) {
    if (!path.starts_with(prefix)) return false;
    path.remove_prefix(prefix.size());
    return true;
}

std::string_view take_segment(std::string_view& path) {
    const auto slash = path.find('/');
    const auto out = path.substr(0, slash);
    path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash);
    return out;
}

void copy_number(const place& from, std::string_view key, editor to) {
    std::optional<std::int32_t> number;
    from.read(key, number);
    if (number) to.set(key, *number);
}

void copy_metrics(const place& status, editor to) {
    const place list = status.array("metrics");
    for (std::size_t i = 0; i < list.size(); ++i) {
        const place one = list.object_item(i);
        editor out = to.ensure_array("metrics").append_object();
        for (const std::string_view key : {"name", "value"}) {
            std::string_view text;
            one.read(key, text);
            if (!text.empty()) out.set(key, text);
        }
    }
}

}  // namespace

std::optional<reported_job> job_at(std::string_view path) {
    if (!take(path, "/apis/") || !take(path, api::names::trainer_api_version) || !take(path, "/namespaces/"))
        return std::nullopt;
    const auto ns = take_segment(path);
    if (!take(path, "/trainjobs/")) return std::nullopt;
    const auto name = take_segment(path);
    if (path != "/status" || !plain(ns) || !plain(name)) return std::nullopt;
    return reported_job{std::string(ns), std::string(name)};
}

std::string audience_of(const reported_job& job) {
    std::string out(api::names::trainer_api_version);
    return out.append("/namespaces/").append(job.ns).append("/trainjobs/").append(job.name).append("/status");
}

std::string_view bearer_token(std::string_view header) {
    const auto begin = std::min(header.find_first_not_of(blanks), header.size());
    header.remove_prefix(begin);
    header = header.substr(0, header.find_last_not_of(blanks) + 1);
    const auto gap = header.find_first_of(blanks);
    if (gap == std::string_view::npos) return {};
    constexpr std::string_view scheme = "bearer";
    const auto is_same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; };
    if (!std::ranges::equal(header.substr(0, gap), scheme, is_same)) return {};
    const auto token = header.substr(header.find_first_not_of(blanks, gap));
    return token.find_first_of(blanks) == std::string_view::npos ? token : std::string_view{};
}

base::result<progress_report> read_report(std::string_view body, const reported_job& job) {
    api::arena memory;
    const auto document = api::parse_json(memory, body, {report_bytes_max, report_depth_max});
    if (!document || !document->is_object()) return base::fail(base::errc::invalid, "Invalid payload");
    api::decoding outcome("Invalid payload");
    const place root(outcome, *document);
    const place status = root.object("trainerStatus");
    editor echo = editor::object(memory);
    if (status) {
        editor to = echo.ensure_object("trainerStatus");
        copy_number(status, "progressPercentage", to);
        copy_number(status, "estimatedRemainingSeconds", to);
        copy_metrics(status, to);
        std::optional<api::seconds_time> seen;
        std::string_view text;
        status.read("lastUpdatedTime", seen);
        status.read("lastUpdatedTime", text);
        if (seen) {
            to.set("lastUpdatedTime", text);
        } else {
            to.set("lastUpdatedTime", nullptr);  // as Go writes a time that is not set
        }
    }
    if (!outcome.ok()) return base::fail(outcome.fail().error());
    progress_report out{.echo = api::to_json(echo), .apply = {}};
    if (!status) return out;
    editor object = editor::object(memory);
    object.set("apiVersion", api::names::trainer_api_version).set("kind", api::names::train_job_kind);
    object.ensure_object("metadata").set("name", job.name).set("namespace", job.ns);
    object.ensure_object("status").set("trainerStatus", echo.get("trainerStatus"));
    out.apply = api::to_json(object);
    return out;
}

}  // namespace cotrain::serve
