// Reading PodGroups.
#include "api/podgroup.hpp"

#include "api/names.hpp"

namespace cotrain::api {

base::result<pod_group> decode_pod_group(ref document) {
    decoding outcome("PodGroup");
    const place root(outcome, document);
    pod_group out;
    out.document = document;
    if (!document.is_object()) root.expected("an object");
    const bool volcano = document.get("apiVersion").as_string() == names::volcano_pod_group.api_version;
    out.scheduler = volcano ? gang_scheduler::volcano : gang_scheduler::coscheduling;
    out.meta = decode_meta(root);
    const place spec = root.object("spec");
    spec.read("minMember", out.min_member);
    spec.read_object("minResources", out.min_resources);
    spec.read("scheduleTimeoutSeconds", out.schedule_timeout_seconds);
    spec.read("queue", out.queue);
    spec.read("priorityClassName", out.priority_class_name);
    root.object("status").read("phase", out.phase);
    if (!outcome.ok()) return outcome.fail();
    return out;
}

}  // namespace cotrain::api
