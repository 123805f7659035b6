// Writes and reads runtime snapshots.
#include "runtime/snapshot.hpp"

#include <string>
#include <utility>

#include "api/decode.hpp"
#include "api/meta.hpp"
#include "api/snapshot_hash.hpp"
#include "api/yaml.hpp"

namespace cotrain::runtime {
namespace {

namespace names = api::names;

std::unexpected<base::error> invalid(std::string what) {
    return base::fail(base::errc::invalid, "invalid runtime snapshot: " + std::move(what));
}

std::string quoted(std::string_view group, std::string_view kind, std::string_view name) {
    std::string out(kind);
    return out.append(".").append(group).append(" \"").append(name).append("\"");
}

}  // namespace

object make_snapshot(api::arena& memory, const api::train_job& job, const compiled_runtime& runtime) {
    const std::string name = child_name(job, names::snapshot_suffix);
    api::editor map = new_child(memory, names::config_map, name, job);
    map.set("immutable", true);
    map.set("data", runtime.snapshot_data());
    return finish(names::config_map, name, map);
}

base::result<std::shared_ptr<const compiled_runtime>> read_snapshot(const api::train_job& job, api::ref config_map,
                                                                    std::string_view recorded) {
    api::decoding outcome("ConfigMap");
    const api::object_meta meta = api::decode_meta(api::place(outcome, config_map));
    if (!outcome.ok()) return outcome.fail();
    const std::string name = child_name(job, names::snapshot_suffix);
    if (!meta.controlled_by(job.meta.uid)) {
        return invalid("ConfigMap " + name + " exists but this TrainJob does not control it");
    }
    const api::ref text = config_map.get({"data", names::snapshot_key});
    if (!text.is_string())
        return invalid("ConfigMap " + name + " has no key \"" + std::string(names::snapshot_key) + "\"");
    if (recorded.empty()) recorded = job.document.get({"status", names::snapshot_hash_member}).as_string();
    if (!recorded.empty() && api::snapshot_hash(text.text()) != recorded) {
        base::error e = invalid("ConfigMap " + name +
                                " is not as it was when it was recorded in the TrainJob's status: delete it, and it is "
                                "made anew from the runtime")
                            .error();
        e.reason = "SnapshotChanged";
        return base::fail(std::move(e));
    }

    api::arena memory(api::plan_bytes_max);
    // We write no aliases, and a few bytes of them can stand for millions.
    auto document = api::parse_yaml(memory, text.text(), {}, api::yaml_aliases::refused);
    if (!document) return base::fail(std::move(document.error()).during("invalid runtime snapshot"));
    const auto version = document->get("apiVersion").as_string();
    const auto group = version.substr(0, version.find('/') == std::string_view::npos ? 0 : version.find('/'));
    const auto kind = document->get("kind").as_string();
    const auto found = document->get({"metadata", "name"}).as_string();
    const auto& wanted = job.spec.runtime;
    if (group != wanted.api_group || kind != wanted.kind || found != wanted.name) {
        return invalid("it holds " + quoted(group, kind, found) + ", the TrainJob refers to " +
                       quoted(wanted.api_group, wanted.kind, wanted.name));
    }
    auto compiled = compiled_runtime::compile(*document);
    if (!compiled) return base::fail(std::move(compiled.error()).during("invalid runtime snapshot"));
    return compiled;
}

}  // namespace cotrain::runtime
