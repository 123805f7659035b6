#include "app/explain/layers.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "plugins/builtin.hpp"
#include "runtime/info.hpp"

namespace cotrain::app {

namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;

// The JobSet as it was after a stage.
struct stage {
    std::string layer;
    field_values fields;
};

ref job_set_of(doc::arena& memory, const runtime::patched_template& from) {
    editor out = editor::object(memory);
    if (!from.labels.empty()) out.ensure_object("metadata").set("labels", from.labels);
    if (!from.annotations.empty()) out.ensure_object("metadata").set("annotations", from.annotations);
    out.set("spec", from.spec);
    return doc::freeze(memory, out);
}

// What plugins did, in the order of their phases.
class trace {
   public:
    explicit trace(const api::train_job& job) {
        if (!job.spec.trainer) return;
        command_ = job.spec.trainer->command;
        args_ = job.spec.trainer->args;
    }
    void note(std::string_view plugin, const runtime::info& i) {
        field_values now = fields_of_info(i);
        if (!stages.empty() && stages.back().fields == now) return;
        stages.push_back({"plugin " + std::string(plugin), std::move(now)});
    }
    std::vector<stage> stages;

   private:
    // A command that a plugin wraps is put into the container only when the JobSet is built.
    [[nodiscard]] field_values fields_of_info(const runtime::info& i) const {
        doc::arena memory;
        // A copy: what is noted must not freeze what plugins go on to change.
        const auto spec = doc::parse_json_copy(memory, doc::to_json(i.spec().view()));
        field_values out = fields_of(job_set_of(memory, {spec ? *spec : ref{}, i.labels(), i.annotations()}));
        const runtime::pod_set* const set = i.trainer();
        if (set == nullptr) return out;
        const std::string container = "spec.replicatedJobs[" + std::string(set->name) +
                                      "].template.spec.template.spec.containers[" + std::string(names::node) + "].";
        if (i.command().is_array() && !doc::equal(i.command(), command_))
            out[container + "command"] = doc::to_json(i.command());
        if (i.args().is_array() && !doc::equal(i.args(), args_)) out[container + "args"] = doc::to_json(i.args());
        return out;
    }

    ref command_;  // the job's own
    ref args_;
};

// A plugin whose phases are noted.
template <class P>
struct traced : P {
    trace* to = nullptr;

    base::result<> noted(base::result<> done, const runtime::info& i) const {
        if (to != nullptr) to->note(P::name, i);
        return done;
    }
    [[nodiscard]] base::result<> enforce_ml_policy(runtime::info& i, const api::train_job& job) const
        requires runtime::enforces_ml_policy<P>
    {
        return noted(P::enforce_ml_policy(i, job), i);
    }
    [[nodiscard]] base::result<> enforce_pod_group_policy(runtime::info& i, const api::train_job& job) const
        requires runtime::enforces_pod_group_policy<P>
    {
        return noted(P::enforce_pod_group_policy(i, job), i);
    }
    [[nodiscard]] base::result<> sync_parallelism(runtime::info& i) const
        requires runtime::syncs_parallelism<P>
    {
        return noted(P::sync_parallelism(i), i);
    }
    [[nodiscard]] base::result<> build(runtime::info& i, const api::train_job& job, const runtime::observed& seen,
                                       runtime::object_list& out) const
        requires runtime::builds_objects<P>
    {
        return noted(P::build(i, job, seen, out), i);
    }
};

template <class... P>
std::shared_ptr<const runtime::plugin_set> trace_all(const runtime::framework<P...>*, trace& to,
                                                     const runtime::plugin_options& options) {
    auto out = std::make_shared<runtime::framework<traced<P>...>>(traced<P>{{}, &to}...);
    [[maybe_unused]] const auto taken = out->take(options);
    assert(taken.has_value());
    return out;
}

ref json_member(doc::arena& memory, const runtime::object_list& objects) {
    for (const runtime::object& each : objects) {
        if (each.type->kind != names::job_set.kind) continue;
        const auto document = doc::parse_json_copy(memory, each.json);
        if (!document) return {};
        const ref metadata = document->get("metadata");
        return job_set_of(memory, {document->get("spec"), metadata.get("labels"), metadata.get("annotations")});
    }
    return {};
}

runtime::observed nothing_there() {
    runtime::observed out;
    out.make_ssh_key = [] { return runtime::ssh_key{}; };
    out.make_curve_key = [] { return runtime::curve_key{}; };
    return out;
}

base::result<ref> plan(doc::arena& memory, const api::train_job& job, const runtime::compiled_runtime& runtime,
                       const runtime::plugin_set& with) {
    auto objects = with.new_objects(memory, job, runtime, nothing_there());
    if (!objects) return base::fail(std::move(objects.error()));
    return json_member(memory, *objects);
}

plugins::builtin made_with(const runtime::plugin_options& options) {
    plugins::builtin out;
    [[maybe_unused]] const auto taken = out.take(options);
    assert(taken.has_value());
    return out;
}

// The runtime, each patch, the trainer's resources: what comes before plugins.
base::result<std::vector<stage>> first_stages(const api::train_job& job, const runtime::compiled_runtime& runtime) {
    std::vector<stage> out;
    api::train_job part = job;
    part.spec.runtime_patches.clear();
    part.spec.pod_template_overrides.clear();
    const ref metadata = runtime.runtime().template_metadata;
    const auto add = [&](std::string layer) -> base::result<> {
        doc::arena memory(doc::plan_bytes_max);
        auto now =
            runtime::apply_patches(memory, {runtime.spec(), metadata.get("labels"), metadata.get("annotations")}, part);
        if (!now) return base::fail(std::move(now.error()));
        out.push_back({std::move(layer), fields_of(job_set_of(memory, *now))});
        return {};
    };
    if (auto done = add("runtime"); !done) return base::fail(std::move(done.error()));
    for (const auto& patch : job.spec.runtime_patches) {
        part.spec.runtime_patches.push_back(patch);
        if (auto done = add("patch of " + std::string(patch.manager)); !done)
            return base::fail(std::move(done.error()));
    }
    for (std::size_t i = 0; i < job.spec.pod_template_overrides.size(); ++i) {
        part.spec.pod_template_overrides.push_back(job.spec.pod_template_overrides[i]);
        if (auto done = add("spec.podTemplateOverrides[" + std::to_string(i) + "]"); !done)
            return base::fail(std::move(done.error()));
    }
    doc::arena memory(doc::plan_bytes_max);
    const auto made = runtime::info::make(memory, runtime, job);
    if (!made) return base::fail(made.error());
    out.push_back({"spec.trainer.resourcesPerNode",
                   fields_of(job_set_of(memory, {made->spec().view(), made->labels(), made->annotations()}))});
    return out;
}

// A field of the TrainJob's or the runtime's spec that others may follow from.
struct input {
    bool of_runtime = false;
    std::vector<std::string> path;
    field_values said{};

    // Whether a plugin only passed on what stands there.
    [[nodiscard]] bool says(const std::string& value) const {
        return std::ranges::any_of(said, [&value](const auto& each) { return each.second == value; });
    }

    // A policy that asks for a plugin: all that the plugin does follows from it.
    [[nodiscard]] bool is_policy() const { return of_runtime && path.size() == 2 && path[1] != "numNodes"; }
    [[nodiscard]] std::string text() const {
        std::string out = of_runtime ? "runtime's spec" : "spec";
        for (const std::string& each : path) out += "." + each;
        return out;
    }
};

void list_inputs(ref spec, bool of_runtime, std::vector<std::string> above, std::vector<input>& out) {
    constexpr std::array others{std::string_view("runtimeRef"), std::string_view("runtimePatches"),
                                std::string_view("podTemplateOverrides"), std::string_view("managedBy"),
                                std::string_view("template")};
    constexpr std::size_t depth_max = 3;
    for (const doc::member& m : spec.members()) {
        if (above.empty() && std::ranges::contains(others, m.key())) continue;
        std::vector<std::string> path = above;
        path.emplace_back(m.key());
        // What is deepest comes first, since it says more.
        const bool resources = m.key() == "resourcesPerNode";
        if (m.value.is_object() && path.size() < depth_max && !resources) list_inputs(m.value, of_runtime, path, out);
        if (out.size() < inputs_max) out.push_back({of_runtime, std::move(path), fields_of(m.value)});
    }
}

// The document without that field, or with another value in its place; absent where it has no other.
ref changed(doc::arena& memory, ref document, const input& what, bool remove) {
    editor out = editor::of(memory, document);
    editor at = out.child("spec");
    for (std::size_t i = 0; at && i + 1 < what.path.size(); ++i) at = at.child(what.path[i]);
    if (!at) return {};
    constexpr std::int64_t number_max = 1'000'000;
    const std::string& last = what.path.back();
    const ref now = at.get(last);
    if (remove) {
        at.remove(last);
    } else if (const auto number = now.as_int(); number && *number < number_max) {
        at.set(last, *number + 1);
    } else if (now.is_bool()) {
        at.set(last, !*now.as_bool());
    } else if (now.is_string()) {
        at.set(last, std::string(now.text()) + "x");
    } else {
        return {};
    }
    return doc::freeze(memory, out);
}

// The fields that would be different.
class experiment {
   public:
    experiment(ref job, const runtime::compiled_runtime& runtime, const field_values& planned,
               const runtime::plugin_set& plugins)
        : job_(job), runtime_(runtime), planned_(planned), plugins_(plugins) {}

    [[nodiscard]] std::vector<std::string> affected(const input& what) const {
        std::vector<std::string> out;
        for (const bool remove : {true, false}) {
            const auto other = plan_with(what, remove);
            if (!other) continue;
            for (const auto& [path, value] : planned_) {
                const auto found = other->find(path);
                if (found == other->end() || found->second != value) out.push_back(path);
            }
        }
        return out;
    }

   private:
    [[nodiscard]] std::optional<field_values> plan_with(const input& what, bool remove) const {
        doc::arena memory(doc::plan_bytes_max);
        const ref other = changed(memory, what.of_runtime ? runtime_.runtime().document : job_, what, remove);
        const auto job = api::decode_train_job(what.of_runtime ? job_ : other);
        if (!other || !job) return std::nullopt;
        std::shared_ptr<const runtime::compiled_runtime> made;
        if (what.of_runtime) {
            auto compiled = runtime::compiled_runtime::compile(other);
            if (!compiled) return std::nullopt;
            made = std::move(*compiled);
        }
        const auto set = plan(memory, *job, made ? *made : runtime_, plugins_);
        return set ? std::optional(fields_of(*set)) : std::nullopt;
    }

    ref job_;
    const runtime::compiled_runtime& runtime_;
    const field_values& planned_;
    const runtime::plugin_set& plugins_;
};

// The layers up to plugins, and what plugins did.
base::result<std::vector<stage>> all_stages(const api::train_job& job, const runtime::compiled_runtime& runtime,
                                            const runtime::plugin_options& options) {
    auto out = first_stages(job, runtime);
    if (!out) return out;
    trace noted(job);
    const auto with = trace_all(static_cast<const plugins::builtin*>(nullptr), noted, options);
    doc::arena memory(doc::plan_bytes_max);
    if (auto planned = plan(memory, job, runtime, *with); !planned) return base::fail(std::move(planned.error()));
    std::ranges::move(noted.stages, std::back_inserter(*out));
    return out;
}

// The last stage that changed the field; nothing if that was the building of the JobSet.
const stage* setter_of(const std::vector<stage>& stages, const std::string& path, const std::string& value) {
    const stage* out = nullptr;
    for (auto at = stages.rbegin(); at != stages.rend(); ++at) {
        const auto found = at->fields.find(path);
        if (found == at->fields.end() || found->second != value) break;
        out = &*at;
    }
    return out;
}

}  // namespace

base::result<ref> planned_job_set(doc::arena& memory, const api::train_job& job,
                                  const runtime::compiled_runtime& runtime, const runtime::plugin_options& options) {
    return plan(memory, job, runtime, made_with(options));
}

base::result<explained> explain_layers(doc::arena& memory, const api::train_job& job,
                                       const runtime::compiled_runtime& runtime,
                                       const runtime::plugin_options& options) {
    const auto stages = all_stages(job, runtime, options);
    if (!stages) return base::fail(stages.error());
    const plugins::builtin plugins = made_with(options);
    const auto planned = plan(memory, job, runtime, plugins);
    if (!planned) return base::fail(planned.error());
    explained out{*planned, {}};
    const field_values fields = fields_of(*planned);

    std::vector<input> inputs;
    list_inputs(job.document.get("spec"), false, {}, inputs);
    list_inputs(runtime.runtime().document.get("spec"), true, {}, inputs);
    const experiment tried(job.document, runtime, fields, plugins);
    std::map<std::string, const input*, std::less<>> causes;
    for (const input& each : inputs)
        for (std::string& path : tried.affected(each)) causes.try_emplace(std::move(path), &each);

    for (const auto& [path, value] : fields) {
        const stage* const set = setter_of(*stages, path, value);
        std::string layer = set == nullptr ? "plugin JobSet" : set->layer;
        const auto cause = causes.find(path);
        if (cause != causes.end() && (layer == "plugin JobSet" || cause->second->says(value))) {
            if (layer.starts_with("plugin ")) layer = cause->second->text();
        } else if (cause != causes.end() && layer.starts_with("plugin ") && !cause->second->is_policy()) {
            layer += " (" + cause->second->text() + ")";
        }
        out.layers.emplace(path, std::move(layer));
    }
    return out;
}

}  // namespace cotrain::app
