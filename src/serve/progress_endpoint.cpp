// Who may report, in which order that is checked, and what the API server's verdict becomes.
#include "serve/progress_endpoint.hpp"

#include <string>
#include <utility>

namespace cotrain::serve {

namespace {

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
