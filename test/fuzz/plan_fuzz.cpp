// A runtime and a TrainJob of any bytes, as a tenant could write them where admission is switched off: the plan is made
// within its budget, and all that it writes is JSON of the object that it says, whatever the texts inside are.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "api/trainjob.hpp"
#include "budget.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "plugins/builtin.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/normalise.hpp"

namespace {

using namespace cotrain;

constexpr std::string_view mark = "\n%%%\n";

// A replicated job of a few bytes is one of some kilobytes when it is planned: what bounds that is the arenas' size.
constexpr std::size_t memory_base = 3 * doc::plan_bytes_max;

void demand(bool holds) {
    if (!holds) std::abort();
}

void check(const runtime::object& made, const api::train_job& job) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, made.json);
    demand(document.has_value());
    demand(document->get("kind").as_string() == made.type->kind);
    demand(document->get({"metadata", "name"}).as_string() == made.name);
    if (!job.meta.uid.empty()) demand(document->get({"metadata", "ownerReferences"}).size() == 1);
    if (made.type->kind != "ConfigMap") return;
    // Nobody's text becomes a member.
    constexpr std::string_view members[] = {"apiVersion", "kind", "metadata", "data", "immutable"};
    for (const doc::member& m : document->members()) demand(std::ranges::contains(members, m.key()));
    constexpr std::string_view files[] = {"runtime", "hostfile", "entrypoint.sh", "init.sh", "ca.crt"};
    for (const doc::member& m : document->get("data").members()) demand(std::ranges::contains(files, m.key()));
}

void plan(std::string_view runtime_text, std::string_view job_text) {
    static const plugins::builtin framework;
    doc::arena memory;
    const auto runtime_document = doc::parse_yaml(memory, runtime_text);
    const auto job_document = doc::parse_yaml(memory, job_text);
    if (!runtime_document || !job_document) return;
    const auto compiled = runtime::compiled_runtime::compile(runtime::with_defaults(memory, *runtime_document));
    const auto job = api::decode_train_job(doc::freeze(memory, runtime::with_defaults(memory, *job_document)));
    if (!compiled || !job) return;
    runtime::observed seen;
    seen.make_ssh_key = []() -> base::result<runtime::ssh_key> { return runtime::ssh_key{"private", "public"}; };
    seen.make_curve_key = []() -> base::result<runtime::curve_key> { return runtime::curve_key{"open", "secret"}; };
    const auto objects = framework.new_objects(memory, *job, **compiled, seen);
    if (!objects) return;
    for (const runtime::object& each : *objects) check(each, *job);
}

}  // namespace

// The runtime, a line "%%%", the TrainJob; YAML or JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    fuzz::at_two_sizes(input, [](std::string_view text) {
        const std::size_t cut = text.find(mark);
        if (cut == std::string_view::npos) return;
        fuzz::within_budget("a plan", text.size(), [&] { plan(text.substr(0, cut), text.substr(cut + mark.size())); },
                            {.memory_base = memory_base});
    });
    return 0;
}
