// Pods and Events as an API server lists them.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace cotrain::runtime::test {

inline std::string join(const std::vector<std::string>& items) {
    std::string out;
    for (const std::string& i : items) out.append(out.empty() ? "" : ",").append(i);
    return out;
}

struct pod_document {
    int rank = 0;
    std::string node{};
    std::string phase = "Pending";
    std::string conditions{};  // JSON
    std::string init{};        // container statuses, JSON
    std::string containers{};
    std::string more{};         // members of the status, with a comma
    std::string meta{};         // members of the metadata, likewise
    std::string attempt = "0";  // empty: without the label
    std::string gang{};         // likewise
    std::string group{};        // of spec.schedulingGroup

    [[nodiscard]] std::string json() const {
        std::string label;
        if (!attempt.empty()) label += R"("jobset.sigs.k8s.io/restart-attempt":")" + attempt + R"(",)";
        if (!gang.empty()) label += R"("scheduling.x-k8s.io/pod-group":")" + gang + R"(",)";
        return fmt::format(
            R"({{"metadata":{{"name":"job-node-0-{0}-x{0}","namespace":"ns","uid":"u{0}",{7})"
            R"("creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[{{"manager":"kubelet","fieldsV1":{{"f:x":{{}}}}}}],)"
            R"("labels":{{{8}"batch.kubernetes.io/job-name":"job-node-0","batch.kubernetes.io/job-completion-index":"{0}",)"
            R"("jobset.sigs.k8s.io/jobset-name":"job","jobset.sigs.k8s.io/replicatedjob-name":"node"}}}},)"
            R"("spec":{{"containers":[{{"name":"node","image":"torch:1"}}],"nodeName":"{1}","schedulerName":"sched"{9}}},)"
            R"("status":{{{6}"phase":"{2}","conditions":[{3}],"initContainerStatuses":[{4}],"containerStatuses":[{5}]}}}})",
            rank, node, phase, conditions, init, containers, more, meta, label,
            group.empty() ? "" : R"(,"schedulingGroup":{"podGroupName":")" + group + "\"}");
    }
};

inline std::string waiting(std::string_view reason, std::string_view message, std::string_view last = "{}") {
    return fmt::format(
        R"({{"name":"node","image":"torch:1","ready":false,"restartCount":0,"started":false,"lastState":{},)"
        R"("state":{{"waiting":{{"reason":"{}","message":"{}"}}}}}})",
        last, reason, message);
}

inline std::string ended(int code, std::string_view reason, std::string_view at, std::string_view message = "") {
    return fmt::format(R"({{"terminated":{{"exitCode":{},"reason":"{}","message":"{}","finishedAt":"{}"}}}})", code,
                       reason, message, at);
}

inline std::string container(std::string_view state, std::string_view last = "{}", std::string_view name = "node") {
    return fmt::format(R"({{"name":"{}","image":"torch:1","ready":false,"restartCount":1,"lastState":{},"state":{}}})",
                       name, last, state);
}

inline std::string unschedulable(std::string_view message, std::string_view since = "") {
    return fmt::format(
        R"({{"type":"PodScheduled","status":"False","reason":"Unschedulable","message":"{}","lastTransitionTime":"{}"}})",
        message, since);
}

inline std::string pods(const std::vector<std::string>& items, std::string_view more = "") {
    return fmt::format(R"({{"kind":"PodList","apiVersion":"v1","metadata":{{"resourceVersion":"9","continue":"{}"}},)"
                       R"("items":[{}]}})",
                       more, join(items));
}

inline std::string event(std::string_view reason, std::string_view note, std::string_view at = "2026-01-01T00:00:05Z",
                         std::string_view type = "Warning") {
    return fmt::format(
        R"({{"metadata":{{"name":"e","namespace":"ns","creationTimestamp":"2026-01-01T00:00:00Z"}},"eventTime":null,)"
        R"("reason":"{}","note":"{}","type":"{}","deprecatedLastTimestamp":"{}","deprecatedCount":4,)"
        R"("regarding":{{"kind":"Job","namespace":"ns","name":"job-node-0"}}}})",
        reason, note, type, at);
}

inline std::string events(const std::vector<std::string>& items) {
    return fmt::format(R"({{"kind":"EventList","apiVersion":"events.k8s.io/v1","metadata":{{}},"items":[{}]}})",
                       join(items));
}

}  // namespace cotrain::runtime::test
