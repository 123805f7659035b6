#include "serve/progress.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "doc/decode.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::serve {

using doc::editor;
using doc::place;

namespace {

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

// Of generateName: five random characters after at most 58 others.
constexpr std::size_t suffix_bytes = 5;
constexpr std::size_t generated_bytes_max = 63 - suffix_bytes;

bool digit(char c) { return c >= '0' && c <= '9'; }

bool all_digits(std::string_view text) { return !text.empty() && std::ranges::all_of(text, digit); }

// Whether `name` is "<job>-<replicated job>-<replica>", or what is left of it when it is cut to `bytes_max`.
bool is_job_name(std::string_view name, std::string_view job, std::string_view replicated_job, std::size_t bytes_max) {
    const std::string before = std::string(job) + "-" + std::string(replicated_job) + "-";
    if (name.starts_with(before) && all_digits(name.substr(before.size()))) return true;
    return name.size() == bytes_max && before.starts_with(name);
}

std::unexpected<base::error> refuse(std::string why) {
    return base::fail(base::errc::auth, "token: " + std::move(why));
}

constexpr kube::resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
constexpr std::string_view manager = "trainer-status";
constexpr std::chrono::milliseconds report_time{10'000};

// The API server's own words, without what we were doing.
std::string_view verdict_of(std::string_view message) {
    constexpr std::string_view before = ": 422 Invalid: ";
    const auto at = message.find(before);
    return at == std::string_view::npos ? message : message.substr(at + before.size());
}

reply internal() { return status_reply(500, "InternalError", "Internal error"); }

reply later(int code, std::string_view reason, std::string_view message) {
    reply out = status_reply(code, reason, message);
    out.headers = {{"retry-after", "1"}};
    return out;
}

reply too_many() { return later(429, "TooManyRequests", "too many progress reports, try again later"); }

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
    doc::arena memory;
    const auto document = doc::parse_json(memory, body, {report_bytes_max, report_depth_max});
    if (!document || !document->is_object()) return base::fail(base::errc::invalid, "Invalid payload");
    doc::decoding outcome("Invalid payload");
    const place root(outcome, *document);
    const place status = root.object("trainerStatus");
    editor echo = editor::object(memory);
    if (status) {
        editor to = echo.ensure_object("trainerStatus");
        copy_number(status, "progressPercentage", to);
        copy_number(status, "estimatedRemainingSeconds", to);
        copy_metrics(status, to);
        std::optional<base::seconds_time> seen;
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
    progress_report out{.echo = doc::to_json(echo), .apply = {}};
    if (!status) return out;
    editor object = editor::object(memory);
    object.set("apiVersion", api::names::trainer_api_version).set("kind", api::names::train_job_kind);
    object.ensure_object("metadata").set("name", job.name).set("namespace", job.ns);
    object.ensure_object("status").set("trainerStatus", echo.get("trainerStatus"));
    out.apply = doc::to_json(object);
    return out;
}

bool is_pod_of(std::string_view pod, std::string_view job, std::string_view replicated_job) {
    if (pod.size() <= suffix_bytes) return false;
    std::string_view name = pod.substr(0, pod.size() - suffix_bytes);
    // A long name without an index loses its last hyphen, too.
    if (!name.ends_with('-'))
        return name.size() == generated_bytes_max && is_job_name(name, job, replicated_job, name.size());
    name.remove_suffix(1);
    if (is_job_name(name, job, replicated_job, generated_bytes_max - 1)) return true;  // a Job without indexes
    const auto hyphen = name.rfind('-');
    if (hyphen == std::string_view::npos || !all_digits(name.substr(hyphen + 1))) return false;
    const std::size_t index_bytes = name.size() - hyphen + 1;  // with the hyphens on both sides
    return index_bytes < generated_bytes_max &&
           is_job_name(name.substr(0, hyphen), job, replicated_job, generated_bytes_max - index_bytes);
}

base::result<> check_reporter(const token_claims& claims, const reported_job& job, const known_job& known) {
    if (claims.pod.empty()) return refuse("it is not bound to a Pod");
    const auto mine = [&](const std::string& part) { return is_pod_of(claims.pod, job.name, part); };
    if (std::ranges::none_of(known.replicated_jobs, mine))
        return refuse("its Pod '" + base::one_line(claims.pod, 80) + "' is none of the job's");
    const std::chrono::sys_seconds issued{std::chrono::seconds(claims.issued)};
    if (issued + issue_skew_max < known.created) return refuse("it is older than the job: a namesake's");
    return {};
}

bool job_rates::admit(const reported_job& job, clock::time_point now) {
    if (jobs_.size() >= jobs_max)
        std::erase_if(jobs_, [now](const auto& each) { return now - each.second.last >= full_after; });
    const std::string key = job.ns + "/" + job.name;
    if (jobs_.size() >= jobs_max && !jobs_.contains(key)) return false;
    entry& one = jobs_[key];
    if (!one.bucket.take(now, clock::duration::zero())) return false;
    one.last = now;
    return true;
}

net::server_options progress_endpoint::server_options() {
    net::server_options out;
    out.body_bytes_max = report_bytes_max;
    out.request = report_time;
    out.idle = std::chrono::seconds(120);
    return out;
}

awaitable<void> progress_endpoint::answer(net::incoming request) {
    const auto& head = request.head();
    auto job = job_at(split_target(head.path).path);
    if (head.method != "POST" || !job) co_return send(request, status_reply(404, "NotFound", "Not found"));
    std::string credential(bearer_token(net::find_header(head.headers, "authorization")));
    send(request, co_await judge(std::move(*job), std::move(credential), request.take_body()));
}

awaitable<reply> progress_endpoint::judge(reported_job job, std::string credential, std::string body) {
    auto claimed = read_token(credential);
    if (!claimed) co_return refuse(job, claimed.error());
    const token_claims claims = claimed->claims;
    const auto verified = co_await keys_.verify(std::move(*claimed), audience_of(job), job.ns);
    if (!verified && verified.error().code != base::errc::auth)
        co_return later(503, "ServiceUnavailable", "the token cannot be verified now, try again later");
    if (!verified) co_return refuse(job, verified.error());
    const auto known = jobs_(job);
    if (!known) co_return status_reply(404, "NotFound", "Train job not found");
    if (const auto ok = check_reporter(claims, job, *known); !ok) co_return refuse(job, ok.error());
    if (!rates_.admit(job, job_rates::clock::now())) co_return too_many();
    auto report = read_report(body, job);
    if (!report) co_return status_reply(422, "Invalid", report.error().message);
    if (report->apply.empty())
        co_return reply{.content_type = "application/json", .body = std::move(report->echo) + "\n"};
    if (!rate_.open(net::priority::write)) {
        const auto turn = co_await rate_.admit(net::priority::write, std::chrono::steady_clock::now() + turn_max);
        if (!turn) co_return too_many();
    }
    co_return co_await apply(job, std::move(*report));
}

reply progress_endpoint::refuse(const reported_job& job, const base::error& why) const {
    log_.debug("progress report refused", {{"namespace", job.ns}, {"name", job.name}, {"error", why.message}});
    return status_reply(403, "Forbidden", "Forbidden");
}

awaitable<reply> progress_endpoint::apply(reported_job job, progress_report report) {
    const auto done = co_await api_.apply(train_jobs, {.ns = job.ns, .name = job.name, .sub_resource = "status"},
                                          std::move(report.apply), true, {.field_manager = manager});
    if (done) co_return reply{.content_type = "application/json", .body = std::move(report.echo) + "\n"};
    const base::error& why = done.error();
    if (why.http_status == 404) co_return status_reply(404, "NotFound", "Train job not found");
    if (why.http_status == 422 || why.http_status == 400)
        co_return status_reply(422, "Invalid", verdict_of(why.message));
    log_.warn("cannot apply a progress report", {{"namespace", job.ns}, {"name", job.name}, {"error", why.message}});
    co_return internal();
}

}  // namespace cotrain::serve
