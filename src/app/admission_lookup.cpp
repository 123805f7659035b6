// One question, one object.
#include "app/admission_lookup.hpp"

#include "api/json.hpp"

namespace cotrain::app {

namespace names = api::names;

admission::answer admission_lookup::from_stores(const admission::question& what) {
    const bool runtime =
        what.type->kind == names::training_runtime_kind || what.type->kind == names::cluster_training_runtime_kind;
    if (!runtime) return {};
    api::train_job job;
    job.meta.ns = what.ns;
    job.spec.runtime.kind = what.type->kind;
    job.spec.runtime.name = what.name;
    const auto known = runtimes_.live(job);
    if (!known) return {};
    return {.state = runtime::presence::exists, .runtime = *known};
}

// A runtime that the stores do not have may just have been created.
awaitable<admission::answer> admission_lookup::look_up(admission::question what, api::arena* memory) {
    using runtime::presence;
    if (auto known = from_stores(what); known.state == presence::exists) co_return known;
    const api::resource_type& type = *what.type;
    const kube::resource of{type.group, type.version, type.plural, type.kind, type.namespaced};
    const auto got = co_await api_.get(of, {.ns = what.ns, .name = what.name}, {.with = {.deadline = patience}});
    if (!got && got.error().http_status == 404) co_return admission::answer{.state = presence::missing};
    if (!got) co_return admission::answer{.state = presence::unreadable, .why = got.error().message};
    const auto document = api::parse_json_copy(*memory, got->body);
    if (!document) co_return admission::answer{.state = presence::unreadable, .why = document.error().message};
    co_return admission::answer{.state = presence::exists, .document = *document};
}

}  // namespace cotrain::app
