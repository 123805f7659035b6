// From the words of kubelets, schedulers and controllers to one sentence.
#include "runtime/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "api/names.hpp"

namespace cotrain::runtime {

namespace {

using std::string_view;

constexpr std::array<string_view, 7> image_reasons{
    "ErrImagePull",      "ImagePullBackOff",    "InvalidImageName",         "ErrImageNeverPull",
    "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"};
constexpr std::array<string_view, 6> container_reasons{"CreateContainerConfigError", "CreateContainerError",
                                                       "RunContainerError",          "PreCreateHookError",
                                                       "PreStartHookError",          "PostStartHookError"};
constexpr std::array<string_view, 2> starting_reasons{"ContainerCreating", "PodInitializing"};

constexpr api::resource_type workload{"kueue.x-k8s.io", "v1beta2", "Workload",
                                      "workloads",      true,      "kueue.x-k8s.io/v1beta2"};
constexpr string_view kueue_job_label = "kueue.x-k8s.io/job-uid";  // of a Workload

diagnosis make(hold state, string_view reason, string_view message) {
    return {state, std::string(reason), base::one_line(message, diagnosis_bytes_max)};
}

bool drop_prefix(string_view& text, string_view prefix) {
    const bool there = text.starts_with(prefix);
    if (there) text.remove_prefix(prefix.size());
    return there;
}

string_view without_end(string_view text, string_view bytes) {
    const std::size_t end = text.find_last_not_of(bytes);
    return text.substr(0, end == string_view::npos ? 0 : end + 1);
}

std::string of_pod(const pod_report& pod, const container_report& c) {
    return fmt::format("{} {} of Pod {}{}{}", c.init ? "init container" : "container", c.name, pod.name,
                       pod.node.empty() ? "" : " on node ", pod.node);
}

// Both say the same in turns: the pull that failed, and the wait for the next.
diagnosis image_fault(const pod_report& pod, const container_report& c) {
    string_view why = c.waiting_message;
    drop_prefix(why, fmt::format("Back-off pulling image \"{}\"", c.image));
    drop_prefix(why, ": ");
    drop_prefix(why, "ErrImagePull: ");
    const string_view what = c.waiting_reason == "InvalidImageName" ? "is no image's name" : "cannot be pulled";
    const string_view waits = c.waiting_reason;
    const string_view reason = waits == "ErrImagePull" ? "ImagePullBackOff" : waits;
    return make(hold::blocked, reason,
                fmt::format("{}: image \"{}\" {} ({}){}{}", reason, c.image, what, of_pod(pod, c),
                            why.empty() ? "" : ": ", why));
}

diagnosis crash(const pod_report& pod, const container_report& c) {
    const container_end end = c.end ? *c.end : c.last_end.value_or(container_end{});
    return make(hold::blocked, "CrashLoopBackOff",
                fmt::format("{} ends again and again, last with exit code {}{}{}{}{}", of_pod(pod, c), end.exit_code,
                            end.reason.empty() ? "" : ", ", end.reason, end.message.empty() ? "" : ": ", end.message));
}

diagnosis container_fault(const pod_report& pod, const container_report& c) {
    const string_view why = c.waiting_reason;
    if (std::ranges::contains(image_reasons, why)) return image_fault(pod, c);
    if (why == "CrashLoopBackOff") return crash(pod, c);
    if (why.empty() || std::ranges::contains(starting_reasons, why)) return {};
    const hold state = std::ranges::contains(container_reasons, why) ? hold::blocked : hold::pending;
    return make(
        state, why,
        fmt::format("{} cannot start: {}", of_pod(pod, c), c.waiting_message.empty() ? why : c.waiting_message));
}

// Quantities as Go prints their members, "map[nvidia.com/gpu:{{8 0} {<nil>}  DecimalSI}]", as "nvidia.com/gpu=8".
std::string without_members(string_view text) {
    std::string out;
    bool any = false;
    for (std::size_t at = 0; (at = text.find(":{{")) != text.npos; any = true) {
        const std::size_t value = at + 3;
        const std::size_t scale = text.find(' ', value);
        const std::size_t end = text.find("SI}", value);
        if (scale > end || end == text.npos) break;
        const string_view exponent = text.substr(scale + 1, text.find('}', scale) - scale - 1);
        out.append(text.substr(0, at)).append("=").append(text.substr(value, scale - value));
        if (exponent != "0") out.append("e").append(exponent);
        text.remove_prefix(end + 3);
    }
    out.append(text);
    const std::size_t map = any ? out.find("map[") : out.npos;
    if (map == out.npos) return out;
    out.erase(map, 4);
    if (const std::size_t close = out.find(']', map); close != out.npos) out.erase(close, 1);
    return out;
}

diagnosis scheduling_fault(const pod_report& pod) {
    if (pod.scheduling_reason == "SchedulingGated")
        return make(hold::pending, "SchedulingGated", fmt::format("Pod {} waits for its scheduling gates", pod.name));
    if (!pod.scheduling_reason.empty())
        return make(never_fits(pod.scheduling_message) ? hold::blocked : hold::pending, pod.scheduling_reason,
                    fmt::format("Pod {}{}{} cannot be scheduled: {}", pod.name, pod.gang.empty() ? "" : " of gang ",
                                pod.gang, without_members(scheduler_words(pod.scheduling_message))));
    if (pod.node.empty() && !pod.looked_at)
        return make(hold::pending, "NotScheduled",
                    fmt::format("no scheduler has looked at Pod {} yet (schedulerName: {})", pod.name,
                                pod.scheduler.empty() ? "default-scheduler" : pod.scheduler));
    return {};
}

std::optional<int> number_after(string_view text, string_view words) {
    const std::size_t at = text.find(words);
    if (at == text.npos) return std::nullopt;
    text.remove_prefix(at + words.size());
    int out = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out);
    return read.ec == std::errc{} ? std::optional(out) : std::nullopt;
}

struct gang_size {
    std::int64_t fit = 0;
    std::int64_t wanted = 0;
};

// Of all Pods on the page that are of one gang.
std::optional<gang_size> room_for(std::span<const pod_report* const> gang, bool all_shown) {
    // 1.37 counts, and says so to those that fit or were not looked at.
    for (const pod_report* p : gang) {
        const auto wanted = number_after(p->scheduling_message, "minCount (");
        const auto fit = number_after(p->scheduling_message, "cannot be satisfied: ");
        if (wanted && fit) return gang_size{*fit, *wanted};
    }
    // 1.36 says to each that fits what it waits for.
    const auto fits = [](const pod_report* p) {
        return p->scheduling_message.contains("waiting for minCount pods from a gang to be scheduled");
    };
    const auto fit = std::ranges::count_if(gang, fits);
    if (fit == 0 || !all_shown) return std::nullopt;
    return gang_size{fit, static_cast<std::int64_t>(gang.size())};
}

// Kubernetes' own gangs: the scheduler tells some Pods how many of the gang fit, and another one what it lacks.
diagnosis gang_waits(std::span<const pod_report* const> pods, bool all_shown) {
    for (const pod_report* first : pods) {
        if (first->gang.empty() || first->scheduling_reason.empty()) continue;
        std::vector<const pod_report*> gang;
        for (const pod_report* p : pods)
            if (p->gang == first->gang) gang.push_back(p);
        const auto room = room_for(gang, all_shown);
        if (!room) continue;
        const auto lacks = [](const pod_report* p) { return p->scheduling_message.contains("nodes are available"); };
        const auto cause = std::ranges::find_if(gang, lacks);
        const auto since = first->unscheduled == base::seconds_time{}
                               ? std::string()
                               : " since " + base::format_time(first->unscheduled);
        const string_view why = cause == gang.end() ? string_view{} : scheduler_words((*cause)->scheduling_message);
        return make(hold::pending, first->scheduling_reason,
                    fmt::format("gang {} waits for room{}: {} of {} Pods fit{}{}", first->gang, since, room->fit,
                                room->wanted, why.empty() ? "" : ": ", why));
    }
    return {};
}

diagnosis init_running(const pod_report& pod) {
    for (const container_report& c : pod.containers)
        if (c.init && c.running && !c.ready)
            return make(hold::pending, "PodInitializing", fmt::format("{} is running", of_pod(pod, c)));
    return {};
}

// Higher ones hide lower ones.
int weight(const diagnosis& d) {
    if (d.state == hold::blocked) return 4;
    if (d.state == hold::none) return 0;
    return d.reason == "PodInitializing" ? 1 : d.reason == "Unschedulable" ? 3 : 2;
}

diagnosis diagnose(const pod_report& pod) {
    if (pod.deleting) return {};
    diagnosis worst;
    const auto take = [&worst](diagnosis d) {
        if (weight(d) > weight(worst)) worst = std::move(d);
    };
    for (const container_report& c : pod.containers) take(container_fault(pod, c));
    take(scheduling_fault(pod));
    take(init_running(pod));
    return worst;
}

bool by_rank(const pod_report* a, const pod_report* b) {
    const auto place = [](const pod_report* p) {
        constexpr std::int32_t last = std::numeric_limits<std::int32_t>::max();
        return std::tuple(p->rank.value_or(last), string_view(p->job), string_view(p->name));
    };
    return place(a) < place(b);
}

// "pods "x-abcde" is forbidden: why" without the name: that of a Pod is another one each time.
string_view without_name(string_view note) {
    for (const string_view end : {string_view("\" is forbidden: "), string_view("\" is invalid: ")}) {
        const std::size_t at = note.find(end);
        const std::size_t quote = note.find('"');
        if (at != string_view::npos && quote < at && note.substr(quote + 1, at - quote - 1).find('"') == note.npos)
            return note.substr(at + end.size());
    }
    return note;
}

string_view refusal_reason(string_view why) {
    constexpr std::array<std::pair<string_view, string_view>, 7> known{{{"exceeded quota", "QuotaExceeded"},
                                                                        {"failed quota", "QuotaExceeded"},
                                                                        {"denied the request", "WebhookDenied"},
                                                                        {"failed calling webhook", "WebhookFailed"},
                                                                        {"serviceaccount", "ServiceAccountMissing"},
                                                                        {"violates PodSecurity", "PodSecurity"},
                                                                        {"per Container is", "LimitRange"}}};
    const auto found = std::ranges::find_if(known, [why](const auto& k) { return why.contains(k.first); });
    return found == known.end() ? "FailedCreate" : found->second;
}

diagnosis refused(string_view kind, string_view name, const event_report& e) {
    string_view why = e.note;
    drop_prefix(why, "Error creating: ");
    constexpr string_view words_of_job_set = "\" creation failed with error: ";
    if (const std::size_t at = why.find(words_of_job_set); at != why.npos)
        why.remove_prefix(at + words_of_job_set.size());
    why = without_name(why);
    const string_view what = kind == api::names::job_set.kind ? "Jobs" : "Pods";
    return make(hold::blocked, refusal_reason(why), fmt::format("{} {} gets no {}: {}", kind, name, what, why));
}

diagnosis does_not_start(string_view name, const event_report& e) {
    const bool lacks = e.note.contains("not found") || e.note.contains("doesn't exist");
    return make(lacks ? hold::blocked : hold::pending, e.reason,
                fmt::format("Pod {} does not start: {}", name, e.note));
}

// Of a Job without Pods its name is what JobSet gives it.
const api::replicated_job_status* first_lacking(const api::job_set& set) {
    const auto lacks = [](const api::replicated_job_status& j) {
        return j.ready + j.succeeded < (j.replicas > 0 ? j.replicas : std::max(1, j.active));
    };
    const auto at = std::ranges::find_if(set.jobs, lacks);
    return at == set.jobs.end() ? nullptr : &*at;
}

}  // namespace

string_view scheduler_words(string_view message) {
    const std::size_t end = std::min({message.find(" preemption:"), message.find(" no new claims"), message.size()});
    const string_view out = without_end(message.substr(0, end), " .,");
    // What preemption says may be the end of what was said before.
    const std::size_t last = out.rfind(". ");
    const bool twice = last != out.npos && out.substr(0, last).ends_with(out.substr(last + 1));
    return twice ? out.substr(0, last) : out;
}

bool never_fits(string_view message) {
    constexpr string_view useless = "Preemption is not helpful";
    const std::size_t tail = message.find("preemption:");
    if (tail != string_view::npos && message.find(useless, tail) != string_view::npos)
        return !message.substr(tail).contains("No preemption victims");
    const string_view head = scheduler_words(message);
    if (head.contains("persistentvolumeclaim") || head.contains("unbound immediate PersistentVolumeClaims"))
        return true;
    return tail == string_view::npos && head.contains("nodes are available") && !head.contains("Insufficient") &&
           !head.contains("Too many pods");
}

diagnosis diagnose_pods(const pod_page& page, std::string* pod) {
    std::vector<const pod_report*> pods;
    for (const pod_report& p : page.pods) pods.push_back(&p);
    std::ranges::sort(pods, by_rank);
    diagnosis worst;
    for (const pod_report* p : pods) {
        diagnosis d = diagnose(*p);
        const bool starts = d.state == hold::none && p->phase == "Pending" && !p->node.empty() && !p->deleting;
        if (starts && pod != nullptr && pod->empty()) *pod = p->name;
        if (weight(d) > weight(worst)) worst = std::move(d);
    }
    if (diagnosis gang = gang_waits(pods, !page.more); weight(gang) >= weight(worst)) worst = std::move(gang);
    return worst;
}

diagnosis diagnose_events(const event_page& page, string_view kind, string_view name, base::seconds_time since) {
    for (const event_report& e : page) {
        if (e.at < since) continue;
        if (kind == "Pod") return does_not_start(name, e);
        if (e.reason == "FailedCreate" || e.reason == "JobCreationFailed") return refused(kind, name, e);
    }
    for (const event_report& e : page)
        if (e.at >= since) return make(hold::pending, e.reason, fmt::format("{} {}: {}", kind, name, e.note));
    return {};
}

const api::resource_type& look_question::type() const {
    if (of == what::workload) return workload;
    return about_pods() ? api::names::pod : api::names::event;
}

std::string look_question::label_selector(string_view job_set) const {
    if (of == what::workload) return fmt::format("{}={}", kueue_job_label, name);
    return about_pods() ? fmt::format("{}={}", api::names::job_set_name_label, job_set) : std::string();
}

std::string look_question::field_selector() const {
    if (of == what::pending_pods) return "status.phase=Pending";
    if (of == what::running_pods) return "status.phase=Running";
    if (of == what::workload) return {};
    return fmt::format("type=Warning,regarding.kind={},regarding.name={}", kind, name);
}

look::look(const api::job_set& set, base::seconds_time since)
    : set_(set.meta.name), set_is_new_(set.jobs.empty() && set.conditions.empty()), since_(since) {
    const api::replicated_job_status* const lacks = first_lacking(set);
    if (lacks == nullptr) return;
    // Of many the first that is neither active nor done.
    const std::int32_t index = std::clamp(lacks->active + lacks->succeeded, 0, std::max(0, lacks->replicas - 1));
    job_ = fmt::format("{}-{}-{}", set_, lacks->name, index);
    job_runs_ = lacks->active > 0;
}

std::optional<look_question> look::next() const {
    using what = look_question::what;
    if (asked_ == look_requests_max) return std::nullopt;
    switch (stage_) {
        case stage::pending_pods: return look_question{.of = what::pending_pods};
        case stage::pod_events: return look_question{what::events, "Pod", pod_};
        case stage::job_events: return look_question{what::events, "Job", job_};
        case stage::running_pods: return look_question{.of = what::running_pods};
        case stage::set_events: return look_question{what::events, std::string(api::names::job_set.kind), set_};
        case stage::workload: return look_question{.of = what::workload, .name = job_};
        case stage::over: break;
    }
    return std::nullopt;
}

void look::take_pods(const pod_page& page) {
    const bool pending = stage_ == stage::pending_pods;
    found_ = diagnose_pods(page, &pod_);
    if (found_.state != hold::none || !pending) return go_on(stage::over);
    if (!pod_.empty()) return go_on(stage::pod_events);
    go_on(job_.empty() ? stage::set_events : stage::job_events);
}

void look::take_events(const event_page& page, const look_question& about) {
    found_ = diagnose_events(page, about.kind, about.name, since_);
    if (found_.state != hold::none || stage_ != stage::job_events) return go_on(stage::over);
    go_on(job_runs_ ? stage::running_pods : stage::set_events);
}

void look::take(const base::result<std::string>& body) {
    const auto question = next();
    if (!question) return;
    const bool last = stage_ == stage::set_events;
    if (stage_ == stage::workload) {
        const auto why = body ? read_quota_message(*body) : base::result<std::string>(base::fail(body.error()));
        if (why && !why->empty()) found_ = make(hold::pending, "QuotaReserved", *why);
        return go_on(stage::over);
    }
    if (question->about_pods()) {
        const auto page = body ? read_pods(*body) : base::result<pod_page>(base::fail(body.error()));
        take_pods(page.value_or(pod_page{}));
    } else {
        const auto page = body ? read_warnings(*body) : base::result<event_page>(base::fail(body.error()));
        take_events(page.value_or(event_page{}), *question);
    }
    ++asked_;
    if (last && found_.state == hold::none && set_is_new_)
        found_ = make(hold::blocked, "JobSetIgnored",
                      fmt::format("JobSet {} has no status: does JobSet's controller run?", set_));
}

}  // namespace cotrain::runtime
