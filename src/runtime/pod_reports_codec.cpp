// Reads pages of Pods and Events with Glaze structs of the members that are used.
#include <algorithm>
#include <charconv>
#include <glaze/json/read.hpp>
#include <utility>

#include "api/names.hpp"
#include "base/json_text.hpp"
#include "runtime/pod_reports.hpp"

namespace cotrain::runtime::wire {

// Items are read one by one, as many as are wanted: how many a list has, its author decides.
using raw_list = std::vector<glz::raw_json_view>;

struct list_meta {
    std::string more;  // "continue"
};
struct list {
    std::string kind;
    list_meta metadata;
    raw_list items;
};

struct labels {
    std::string job;
    std::string index;
    std::string replicated_job;
    std::string attempt;
    std::string gang;
};
struct annotations {
    std::string index;
};
struct meta {
    std::string name;
    std::string creationTimestamp;
    std::string deletionTimestamp;
    wire::labels labels;
    wire::annotations annotations;
};

struct waiting {
    std::string reason;
    std::string message;
};
struct running {};
struct terminated {
    std::int32_t exitCode = 0;
    std::int32_t signal = 0;
    std::string reason;
    std::string message;
    std::string finishedAt;
};
struct container_state {
    std::optional<wire::waiting> waiting;
    std::optional<wire::running> running;
    std::optional<wire::terminated> terminated;
};
struct container_status {
    std::string name;
    std::string image;
    bool ready = false;
    std::int32_t restartCount = 0;
    container_state state;
    container_state lastState;
};
struct condition {
    std::string type;
    std::string status;
    std::string reason;
    std::string message;
    std::string lastTransitionTime;
};
struct scheduling_group {
    std::string podGroupName;
};
struct pod_spec {
    std::string nodeName;
    std::string schedulerName;
    scheduling_group schedulingGroup;
};
struct pod_status {
    std::string phase;
    std::string reason;
    std::string message;
    raw_list conditions;
    raw_list initContainerStatuses;
    raw_list containerStatuses;
};
struct pod {
    meta metadata;
    pod_spec spec;
    pod_status status;
};

struct workload_status {
    raw_list conditions;
};
struct workload {
    workload_status status;
};

struct series {
    std::string lastObservedTime;
};
struct event {
    meta metadata;
    std::string type;
    std::string reason;
    std::string note;
    std::string eventTime;
    std::string deprecatedLastTimestamp;
    wire::series series;
};

}  // namespace cotrain::runtime::wire

template <>
struct glz::meta<cotrain::runtime::wire::list_meta> {
    static constexpr auto value = glz::object("continue", &cotrain::runtime::wire::list_meta::more);
};

template <>
struct glz::meta<cotrain::runtime::wire::labels> {
    using T = cotrain::runtime::wire::labels;
    static constexpr auto value = glz::object(
        cotrain::api::names::batch_job_label, &T::job, cotrain::api::names::completion_index_label, &T::index,
        cotrain::api::names::replicated_job_label, &T::replicated_job, cotrain::api::names::restart_attempt_label,
        &T::attempt, cotrain::api::names::coscheduling_pod_label, &T::gang);
};

template <>
struct glz::meta<cotrain::runtime::wire::annotations> {
    using T = cotrain::runtime::wire::annotations;
    static constexpr auto value = glz::object(cotrain::api::names::completion_index_label, &T::index);
};

namespace cotrain::runtime {

namespace {

constexpr base::strict_json<glz::opts> rules{};
constexpr std::size_t name_bytes_max = 253;
constexpr std::size_t conditions_read_max = 32;

std::string short_text(std::string_view text) { return base::one_line(text, report_text_bytes_max); }
std::string name_of(std::string_view text) { return base::one_line(text, name_bytes_max); }
base::seconds_time time_of(std::string_view text) {
    return base::parse_time_seconds(text).value_or(base::seconds_time{});
}

std::optional<std::int32_t> number_of(std::string_view text) {
    std::int32_t number = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (fault != std::errc{} || end != text.data() + text.size() || number < 0) return std::nullopt;
    return number;
}

// What a program said last is why it ended; before that come traces.
std::string last_line(std::string_view text) {
    const std::size_t end = text.find_last_not_of(" \t\r\n");
    if (end == std::string_view::npos) return {};
    text = text.substr(0, end + 1);
    const std::size_t begin = text.find_last_of("\r\n");
    return short_text(begin == std::string_view::npos ? text : text.substr(begin + 1));
}

template <class T>
std::optional<T> read(std::string_view json) {
    T value{};
    if (glz::read<rules>(value, json)) return std::nullopt;
    return value;
}

template <class T>
void for_each(const wire::raw_list& list, std::size_t most, auto visit) {
    for (std::size_t i = 0; i < std::min(list.size(), most); ++i)
        if (auto item = read<T>(list[i].str)) visit(*item);
}

std::optional<container_end> end_of(const std::optional<wire::terminated>& t) {
    if (!t) return std::nullopt;
    return container_end{.exit_code = t->exitCode,
                         .signal = t->signal,
                         .reason = name_of(t->reason),
                         .message = last_line(t->message),
                         .at = time_of(t->finishedAt)};
}

void take_containers(pod_report& out, const wire::raw_list& list, bool init) {
    for_each<wire::container_status>(list, reported_containers_max, [&](const wire::container_status& c) {
        container_report& to = out.containers.emplace_back();
        to.name = name_of(c.name);
        to.image = short_text(c.image);
        to.init = init;
        to.running = c.state.running.has_value();
        to.ready = c.ready;
        to.restarts = c.restartCount;
        if (c.state.waiting) {
            to.waiting_reason = name_of(c.state.waiting->reason);
            to.waiting_message = short_text(c.state.waiting->message);
        }
        to.end = end_of(c.state.terminated);
        to.last_end = end_of(c.lastState.terminated);
    });
}

void take_condition(pod_report& out, const wire::condition& c) {
    if (c.type == "PodScheduled") out.looked_at = true;
    if (c.type == "PodScheduled" && c.status == "False") {
        out.scheduling_reason = name_of(c.reason);
        out.scheduling_message = short_text(c.message);
        out.unscheduled = time_of(c.lastTransitionTime);
    }
    if (c.type == "DisruptionTarget" && c.status == "True") {
        out.disruption_reason = name_of(c.reason);
        out.disruption_message = short_text(c.message);
        out.disrupted = time_of(c.lastTransitionTime);
    }
}

pod_report report_of(const wire::pod& p) {
    pod_report out;
    const wire::labels& labels = p.metadata.labels;
    out.name = name_of(p.metadata.name);
    out.job = name_of(labels.job);
    out.replicated_job = name_of(labels.replicated_job);
    out.rank = number_of(labels.index.empty() ? p.metadata.annotations.index : labels.index);
    out.attempt = number_of(labels.attempt);
    out.gang = name_of(labels.gang.empty() ? p.spec.schedulingGroup.podGroupName : labels.gang);
    out.node = name_of(p.spec.nodeName);
    out.scheduler = name_of(p.spec.schedulerName);
    out.phase = name_of(p.status.phase);
    out.reason = name_of(p.status.reason);
    out.message = short_text(p.status.message);
    out.deleting = !p.metadata.deletionTimestamp.empty();
    out.created = time_of(p.metadata.creationTimestamp);
    for_each<wire::condition>(p.status.conditions, conditions_read_max,
                              [&](const wire::condition& c) { take_condition(out, c); });
    take_containers(out, p.status.initContainerStatuses, true);
    take_containers(out, p.status.containerStatuses, false);
    return out;
}

base::result<wire::list> read_list(std::string_view what, std::string_view body) {
    if (body.size() > report_page_bytes_max)
        return base::fail(base::errc::too_large, std::string(what) + ": the answer is larger than 16 MiB");
    auto list = read<wire::list>(body);
    if (!list || list->kind != what)
        return base::fail(base::errc::decode, std::string(what) + ": the answer is not the expected JSON: " +
                                                  base::one_line(body.substr(0, 256), 120));
    return std::move(*list);
}

}  // namespace

base::result<pod_page> read_pods(std::string_view body) {
    const auto list = read_list("PodList", body);
    if (!list) return base::fail(list.error());
    pod_page out{.shown = list->items.size(), .more = !list->metadata.more.empty()};
    for_each<wire::pod>(list->items, reported_pods_max, [&](const wire::pod& p) { out.pods.push_back(report_of(p)); });
    return out;
}

base::result<std::string> read_quota_message(std::string_view body) {
    const auto list = read_list("WorkloadList", body);
    if (!list) return base::fail(list.error());
    std::string out;
    for_each<wire::workload>(list->items, 1, [&](const wire::workload& w) {
        for_each<wire::condition>(w.status.conditions, conditions_read_max, [&](const wire::condition& c) {
            if (c.type == "QuotaReserved" && c.status == "False") out = short_text(c.message);
        });
    });
    return out;
}

base::result<event_page> read_warnings(std::string_view body) {
    const auto list = read_list("EventList", body);
    if (!list) return base::fail(list.error());
    event_page out;
    for_each<wire::event>(list->items, reported_events_max, [&](const wire::event& e) {
        if (e.type != "Warning") return;
        base::seconds_time at = time_of(e.metadata.creationTimestamp);
        for (const std::string* t : {&e.eventTime, &e.deprecatedLastTimestamp, &e.series.lastObservedTime})
            at = std::max(at, time_of(*t));
        out.push_back({.reason = name_of(e.reason), .note = short_text(e.note), .at = at});
    });
    std::ranges::stable_sort(out, std::ranges::greater{}, &event_report::at);
    return out;
}

}  // namespace cotrain::runtime
