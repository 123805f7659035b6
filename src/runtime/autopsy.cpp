#include "runtime/autopsy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "runtime/state.hpp"

namespace cotrain::runtime {

namespace {

using std::string_view;

constexpr int killed = 137;      // 128 + SIGKILL
constexpr int terminated = 143;  // 128 + SIGTERM
// What the kubelet says of a container whose end it did not see, with exit code 137.
constexpr string_view unseen = "ContainerStatusUnknown";

struct death {
    const container_report* container = nullptr;  // null: the Pod as a whole
    const container_end* end = nullptr;
    base::seconds_time at{};
};

// What a Pod is taken away for: its containers end by a signal then, whose exit code says nothing.
string_view pod_reason(const pod_report& p) {
    constexpr std::array<std::pair<string_view, string_view>, 6> disruptions{{
        {"PreemptionByScheduler", "Preempted"},
        {"DeletionByTaintManager", "NodeLost"},
        {"DeletionByPodGC", "NodeLost"},
        {"EvictionByEvictionAPI", "Evicted"},
        {"TerminationByKubelet", "Evicted"},
        {"DeletionByDeviceTaintManager", "DeviceLost"},
    }};
    if (!p.reason.empty()) return p.reason;
    if (p.disruption_reason.empty()) return {};
    const auto known =
        std::ranges::find(disruptions, string_view(p.disruption_reason), [](const auto& d) { return d.first; });
    return known == disruptions.end() ? string_view(p.disruption_reason) : known->second;
}

bool failed(const container_end& e) { return e.exit_code != 0 || e.signal != 0; }

// The container that failed first; of one that was started again the last end counts. Nothing: none has since.
// What is told of a Pod that is newer than that counts, though the clock of its node may be late.
std::optional<death> death_of(const pod_report& p, base::seconds_time since) {
    std::optional<death> first;
    const base::seconds_time whole = std::max(p.disrupted, p.created);
    const bool is_new = p.phase == "Failed" && whole > since;
    const auto take = [&](const container_report& c, const std::optional<container_end>& end) {
        if (!end || !failed(*end) || (end->at <= since && !is_new)) return;
        if (end->reason == unseen && !pod_reason(p).empty()) return;
        if (!first || end->at < first->at) first = {&c, &*end, end->at};
    };
    for (const container_report& c : p.containers) {
        take(c, c.end);
        take(c, c.last_end);
    }
    if (!first && is_new) first = {.at = whole};
    return first;
}

// Who is ended by a signal mostly follows another.
bool follows(const pod_report& p, const death& d) {
    if (!pod_reason(p).empty() || d.end == nullptr || d.end->reason == "OOMKilled") return false;
    return d.end->exit_code == terminated || d.end->exit_code == killed;
}

auto place(const pod_report& p, const death& d) {
    constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max();
    return std::tuple(d.at, follows(p, d), p.rank.value_or(last), string_view(p.name));
}

api::job_failure failure_of(const pod_report& p, const death& d) {
    api::job_failure out{.time = d.at, .pod = p.name, .rank = p.rank, .node = p.node};
    const string_view whole = pod_reason(p);
    if (d.end != nullptr) {
        out.container = d.container->name;
        out.exit_code = d.end->exit_code;
        out.reason = d.end->reason;
        out.message = d.end->message;
    }
    if (!whole.empty()) out.reason = whole;
    if (out.message.empty() && !whole.empty()) out.message = p.message.empty() ? p.disruption_message : p.message;
    if (out.reason.empty()) out.reason = d.end != nullptr ? "Error" : "Failed";
    return out;
}

}  // namespace

std::optional<first_failure> find_first_failure(const pod_page& page, std::int32_t attempt, base::seconds_time since) {
    const pod_report* first = nullptr;
    death how;
    std::int32_t latest = attempt;
    std::int32_t dead = 0;
    for (const pod_report& p : page.pods) {
        const auto d = death_of(p, since);
        const std::int32_t of = p.attempt.value_or(attempt);
        if (!d || of < latest) continue;
        if (of > latest) {
            first = nullptr;
            dead = 0;
        }
        latest = of;
        ++dead;
        if (first != nullptr && place(*first, how) <= place(p, *d)) continue;
        first = &p;
        how = *d;
    }
    if (first == nullptr) return std::nullopt;
    first_failure out{.failure = failure_of(*first, how), .more = page.more};
    out.failure.attempt = latest;
    out.failure.pods = dead;
    api::bound_failure(out.failure);
    return out;
}

std::string describe(const first_failure& f) {
    const std::int32_t others = f.failure.pods - 1;
    std::string out = describe(f.failure);
    if (others > 0) {
        out += fmt::format("; {}{} other{} followed", f.more ? "more than " : "", others, others == 1 ? "" : "s");
    } else if (f.more) {
        out += "; others followed";
    }
    return out;
}

}  // namespace cotrain::runtime
