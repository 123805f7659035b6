#include "sim/sub_resources.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "doc/edit.hpp"

namespace cotrain::sim {
namespace {

std::string_view next_step(std::string_view& path) {
    path.remove_prefix(path.starts_with('.') ? 1 : 0);
    const std::size_t end = std::min(path.find('.'), path.size());
    const std::string_view out = path.substr(0, end);
    path.remove_prefix(end);
    return out;
}

doc::ref follow(doc::ref object, std::string_view path) {
    while (!path.empty()) object = object.get(next_step(path));
    return object;
}

// "a=b,c=d" of a text or of a LabelSelector.
std::string selector_text(doc::ref selector) {
    if (selector.is_string()) return std::string{selector.text()};
    std::string out;
    for (const doc::member& m : selector.get("matchLabels").members())
        out += fmt::format("{}{}={}", out.empty() ? "" : ",", m.key(), m.value.as_string());
    return out;
}

}  // namespace

doc::ref make_scale(doc::arena& memory, const kind& of, doc::ref object) {
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "Scale").set("apiVersion", "autoscaling/v1");
    doc::editor metadata = out.ensure_object("metadata");
    for (const char* each : {"name", "namespace", "uid", "resourceVersion", "creationTimestamp"}) {
        if (const doc::ref value = object.get({"metadata", each})) metadata.set(each, value);
    }
    doc::editor spec = out.ensure_object("spec");
    if (const auto wanted = follow(object, of.scale->wanted).as_int(0); wanted != 0) spec.set("replicas", wanted);
    doc::editor status = out.ensure_object("status");
    status.set("replicas", follow(object, of.scale->there).as_int(0));
    const std::string selector = of.scale->selector.empty() ? "" : selector_text(follow(object, of.scale->selector));
    if (!selector.empty()) status.set("selector", selector);
    return out;
}

outcome<doc::ref> scale_patch(doc::arena& memory, const kind& of, std::string_view name, doc::ref scale) {
    const std::int64_t wanted = scale.get({"spec", "replicas"}).as_int(0);
    if (wanted < 0) {
        const std::vector<crd::violation> why{
            {"spec.replicas", crd::fault::invalid, fmt::format("{}: must be greater than or equal to 0", wanted)}};
        return std::unexpected(invalid(of, name, why));
    }
    doc::editor out = doc::editor::object(memory);
    doc::editor below = out;
    std::string_view path = of.scale->wanted;
    for (std::string_view step = next_step(path); !path.empty(); step = next_step(path))
        below = below.ensure_object(step);
    const std::string_view whole = of.scale->wanted;
    below.set(whole.substr(whole.rfind('.') + 1), wanted);
    if (const doc::ref version = scale.get({"metadata", "resourceVersion"}); !version.as_string().empty())
        out.ensure_object("metadata").set("resourceVersion", version);
    return out.view();
}

doc::ref binding_patch(doc::arena& memory, doc::ref binding, base::seconds_time now) {
    doc::editor out = doc::editor::object(memory);
    out.ensure_object("spec").set("nodeName", binding.get({"target", "name"}).as_string());
    doc::editor condition = out.ensure_object("status").ensure_array("conditions").append_object();
    condition.set("type", "PodScheduled").set("status", "True").set("lastTransitionTime", base::format_time(now));
    return out;
}

}  // namespace cotrain::sim
