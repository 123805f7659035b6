// One patch per runtime, once.
#include "reconcile/runtime_reconciler.hpp"

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "watch/cluster.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

struct held {
    std::string version;
    doc::ref finalizers;
};

held as_stored(doc::arena& memory, const watch::object_record& record, const watch::object_body& body) {
    if (!record.held_back) return {};
    const auto metadata = doc::parse_json_copy(memory, body.extra());
    return {std::to_string(record.version), metadata ? metadata->get("finalizers") : doc::ref{}};
}

held as_sent(doc::arena& memory, std::string_view object) {
    const auto sent = doc::parse_json_copy(memory, object);
    if (!sent) return {};
    return {std::string(sent->get({"metadata", "resourceVersion"}).as_string()), sent->get({"metadata", "finalizers"})};
}

}  // namespace

awaitable<outcome> runtime_reconciler::reconcile(key k, attempt tried) {
    if (!api_.leading()) co_return outcome::done();
    const auto of = static_cast<watch::kind>(k.kind);
    const auto at = all_.store(of).find(k.name);
    if (!at) co_return outcome::done();
    const auto [ns, name] = watch::split_key(all_.texts().view(k.name));
    const target runtime{
        of == watch::kind::training_runtime ? &names::training_runtime : &names::cluster_training_runtime,
        std::string(ns), std::string(name)};
    doc::arena memory;
    held now;
    if (const watch::object_body* const body = all_.store(of).body(*at); body != nullptr) {
        now = as_stored(memory, *all_.store(of).get(*at), *body);
    } else if (all_.store(of).get(*at)->held_back) {
        const auto sent = co_await api_.get(runtime);
        if (!sent) co_return refused(runtime, tried, sent.error());
        now = as_sent(memory, *sent);
    }
    doc::editor patch = doc::editor::object(memory);
    // In this very state: others may change the list meanwhile.
    patch.ensure_object("metadata").set("resourceVersion", now.version);
    doc::editor kept = patch.ensure_object("metadata").ensure_array("finalizers");
    for (const doc::ref f : now.finalizers.items())
        if (f.as_string() != names::resource_in_use_finalizer) kept.append(f);
    if (kept.size() == now.finalizers.size()) co_return outcome::done();

    const auto answer = co_await api_.merge_patch(runtime, "", doc::to_json(patch));
    if (answer) {
        all_.note(of, *answer);
        co_return outcome::done();
    }
    co_return refused(runtime, tried, answer.error());
}

outcome runtime_reconciler::refused(const target& runtime, attempt now, const base::error& e) {
    if (e.code == base::errc::canceled || e.http_status == 404) return outcome::done();
    log_.warn("cannot remove an old finalizer from a runtime", {{"controller", "runtime"},
                                                                {"namespace", runtime.ns},
                                                                {"name", runtime.name},
                                                                {"reconcileID", reconcile_id(now.number)},
                                                                {"error", e.message}});
    return outcome::failed_by(e);
}

}  // namespace cotrain::reconcile
