// Names of Pods as the Job controller makes them, and a bucket for each job.
#include "serve/reporter.hpp"

#include <algorithm>

namespace cotrain::serve {

namespace {

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

}  // namespace

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

}  // namespace cotrain::serve
