// One patch per runtime, once.
#include "reconcile/runtime_reconciler.hpp"

#include "api/edit.hpp"
#include "api/json.hpp"
#include "reconcile/trainjob_records.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

api::ref finalizers_of(api::arena& memory, const cluster& all, watch::kind of, watch::text_id key) {
    const auto& store = all.store(of);
    const auto at = store.find(key);
    const watch::object_body* const body = at ? store.body(*at) : nullptr;
    if (body == nullptr || !body->extra().contains(names::resource_in_use_finalizer)) return {};
    const auto metadata = api::parse_json_copy(memory, body->extra());
    return metadata ? metadata->get("finalizers") : api::ref{};
}

}  // namespace

bool has_old_finalizer(const cluster& all, watch::kind of, const watch::object_record& runtime) {
    const auto& store = all.store(of);
    const auto at = store.find(runtime.key);
    const watch::object_body* const body = at ? store.body(*at) : nullptr;
    return body != nullptr && body->extra().contains(names::resource_in_use_finalizer);
}

awaitable<outcome> runtime_reconciler::reconcile(key k, unsigned) {
    if (!api_.leading()) co_return outcome::done();
    const auto of = static_cast<watch::kind>(k.kind);
    const auto at = all_.store(of).find(k.name);
    if (!at) co_return outcome::done();
    api::arena memory;
    const api::ref now = finalizers_of(memory, all_, of, k.name);
    api::editor patch = api::editor::object(memory);
    // In this very state: others may change the list meanwhile.
    patch.ensure_object("metadata").set("resourceVersion", std::to_string(all_.store(of).get(*at)->version));
    api::editor kept = patch.ensure_object("metadata").ensure_array("finalizers");
    for (const api::ref f : now.items())
        if (f.as_string() != names::resource_in_use_finalizer) kept.append(f);
    if (kept.size() == now.size()) co_return outcome::done();

    const auto [ns, name] = split_key(all_.texts().view(k.name));
    const auto* const type =
        of == watch::kind::training_runtime ? &names::training_runtime : &names::cluster_training_runtime;
    const auto answer = co_await api_.merge_patch({type, std::string(ns), std::string(name)}, "", api::to_json(patch));
    if (answer) {
        all_.note(of, *answer);
        co_return outcome::done();
    }
    if (answer.error().code == base::errc::canceled || answer.error().http_status == 404) co_return outcome::done();
    log_.warn("cannot remove an old finalizer from a runtime",
              {{"controller", "runtime"}, {"error", answer.error().message}});
    co_return outcome::failed_by(answer.error());
}

}  // namespace cotrain::reconcile
