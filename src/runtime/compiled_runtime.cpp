// Normalises, freezes and renders a runtime once; writes and reads snapshots.
#include "runtime/compiled_runtime.hpp"

#include <string>
#include <utility>

#include "api/meta.hpp"
#include "api/names.hpp"
#include "doc/decode.hpp"
#include "doc/edit.hpp"
#include "doc/yaml.hpp"
#include "runtime/normalise.hpp"
#include "runtime/object.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {
namespace {

// Above what a ConfigMap takes, and far below what indentation can make of a deep object.
constexpr std::size_t snapshot_bytes_max = 2 * config_bytes_max;

}  // namespace

base::result<std::shared_ptr<const compiled_runtime>> compiled_runtime::compile(doc::ref document) {
    doc::arena scratch(doc::plan_bytes_max);
    const auto normal = normalise(scratch, document, schema::training_runtime, {});
    if (!normal) return base::fail(normal.error());
    doc::editor kept = doc::editor::of(scratch, *normal);
    if (!kept) return base::fail(base::errc::invalid, "a runtime must be an object");
    kept.remove("status");
    // Bookkeeping of the API server, and larger than all the rest.
    if (doc::editor metadata = kept.child("metadata")) metadata.remove("managedFields");

    std::shared_ptr<compiled_runtime> made(new compiled_runtime);
    const doc::ref own = doc::deep_copy(made->memory_, kept);
    auto decoded = api::decode_training_runtime(doc::freeze(made->memory_, own));
    if (!decoded) return base::fail(std::move(decoded.error()));
    made->runtime_ = std::move(*decoded);

    std::string text;
    if (!doc::append_yaml(text, own, snapshot_bytes_max)) {
        return base::fail(base::errc::too_large,
                          "a runtime of more than " + std::to_string(snapshot_bytes_max) + " bytes of YAML");
    }
    doc::editor data = doc::editor::object(made->memory_);
    data.set(api::names::snapshot_key, text);
    made->snapshot_data_ = doc::freeze(made->memory_, data);
    for (const doc::arena* memory : {&scratch, &made->memory_}) {
        if (auto good = check_memory(*memory); !good) return base::fail(std::move(good.error()));
    }
    return made;
}

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

object make_snapshot(doc::arena& memory, const api::train_job& job, const compiled_runtime& runtime) {
    const std::string name = child_name(job, names::snapshot_suffix);
    doc::editor map = new_child(memory, names::config_map, name, job);
    map.set("immutable", true);
    map.set("data", runtime.snapshot_data());
    return finish(names::config_map, name, map);
}

base::result<std::shared_ptr<const compiled_runtime>> read_snapshot(const api::train_job& job, doc::ref config_map,
                                                                    std::string_view recorded) {
    doc::decoding outcome("ConfigMap");
    const api::object_meta meta = api::decode_meta(doc::place(outcome, config_map));
    if (!outcome.ok()) return outcome.fail();
    const std::string name = child_name(job, names::snapshot_suffix);
    if (!meta.controlled_by(job.meta.uid)) {
        return invalid("ConfigMap " + name + " exists but this TrainJob does not control it");
    }
    const doc::ref text = config_map.get({"data", names::snapshot_key});
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

    doc::arena memory(doc::plan_bytes_max);
    // We write no aliases, and a few bytes of them can stand for millions.
    auto document = doc::parse_yaml(memory, text.text(), {}, doc::yaml_aliases::refused);
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
