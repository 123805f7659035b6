// Compiling runtimes once per version, and snapshots once per text.
#include "reconcile/trainjob_runtimes.hpp"

#include <utility>

#include "api/json.hpp"
#include "api/snapshot_hash.hpp"
#include "api/time.hpp"
#include "base/json_text.hpp"
#include "reconcile/trainjob_records.hpp"
#include "runtime/snapshot.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

// Runtimes that nobody uses any more leave when there are this many.
constexpr std::size_t runtimes_kept = 1024;

std::unexpected<base::error> not_there(const api::runtime_ref& wanted, std::string_view ns) {
    std::string message(wanted.kind);
    message.append(" ").append(wanted.kind == names::training_runtime_kind ? std::string(ns) + "/" : "");
    message.append(wanted.name).append(" does not exist: create it, the TrainJob starts then");
    base::error e = base::make_error(base::errc::invalid, base::retry::later, std::move(message));
    e.reason = "RuntimeNotFound";
    return base::fail(std::move(e));
}

std::string identity(std::string_view kind, std::string_view ns, std::string_view name) {
    std::string out;
    watch::write_runtime_key(out, kind, ns, name);
    return out;
}

}  // namespace

base::result<runtime_cache::compiled> runtime_cache::compile(watch::kind of, const watch::object_record& record,
                                                             const watch::object_body& body) const {
    const auto [ns, name] = split_key(all_.texts().view(record.key));
    api::arena memory;
    const std::string_view spec = body.spec();
    std::string text;
    text.append(R"({"apiVersion":")").append(names::trainer_api_version).append(R"(","kind":")");
    base::append_json_string(text.append(watch::info_of(of).of.kind).append(R"(","metadata":{"name":)"), name);
    if (!ns.empty()) base::append_json_string(text.append(R"(,"namespace":)"), ns);
    base::append_json_string(text.append(R"(,"uid":)"), watch::to_text(all_.texts(), record.id));
    text.append(R"(,"resourceVersion":")").append(std::to_string(record.version)).append("\"");
    if (body.generation != 0) text.append(R"(,"generation":)").append(std::to_string(body.generation));
    if (record.created != 0) {
        text.append(R"(,"creationTimestamp":")");
        text.append(api::format_time(api::seconds_time{std::chrono::seconds{record.created}})).append("\"");
    }
    // Labels, annotations and finalizers: an object, of which the braces are ours.
    if (const std::string_view rest = body.extra(); rest.size() > 2) text.append(",").append(rest.substr(1));
    if (body.extra().size() <= 2) text.append("}");
    text.append(R"(,"spec":)").append(spec.empty() ? "{}" : spec).append("}");
    const auto document = api::parse_json(memory, text);
    if (!document) return base::fail(document.error());
    auto made = runtime::compiled_runtime::compile(*document);
    if (!made) return base::fail(std::move(made.error()).during(std::string(watch::info_of(of).of.kind)));
    return made;
}

base::result<runtime_cache::compiled> runtime_cache::live(const api::train_job& job) {
    const auto& wanted = job.spec.runtime;
    const bool namespaced = wanted.kind == names::training_runtime_kind;
    const watch::kind of = namespaced ? watch::kind::training_runtime : watch::kind::cluster_training_runtime;
    const auto& store = all_.store(of);
    const auto at = store.find(namespaced ? job.meta.ns : std::string_view{}, wanted.name);
    const std::string key = identity(wanted.kind, job.meta.ns, wanted.name);
    if (!at || store.body(*at) == nullptr) {
        live_.erase(key);
        return not_there(wanted, job.meta.ns);
    }
    const watch::object_record& record = *store.get(*at);
    const auto known = live_.find(key);
    if (known != live_.end() && known->second.version == record.version && known->second.id == record.id) {
        return known->second.made;
    }
    if (live_.size() >= runtimes_kept) forget_dead();
    auto made = compile(of, record, *store.body(*at));
    live_.insert_or_assign(key, entry{record.version, record.id, made});
    return made;
}

base::result<runtime_cache::snapshot> runtime_cache::from_snapshot(const api::train_job& job,
                                                                   std::string_view config_map,
                                                                   std::string_view recorded) {
    api::arena memory;
    const auto document = api::parse_json(memory, config_map);
    if (!document) return base::fail(document.error());
    const std::string text(document->get({"data", names::snapshot_key}).as_string());
    const auto known = snapshots_.find(text);
    compiled same = known == snapshots_.end() ? nullptr : known->second.lock();
    // Whose it is and what it holds is checked for each job.
    auto made = runtime::read_snapshot(job, *document, recorded);
    if (!made) {
        base::error e = std::move(made.error());
        if (e.reason.empty()) e.reason = "InvalidSnapshot";
        return base::fail(std::move(e));
    }
    snapshot out{std::move(same), api::snapshot_hash(text), document->get("immutable").as_bool(false)};
    if (out.runtime != nullptr) return out;
    out.runtime = std::move(*made);
    if (snapshots_.size() >= runtimes_kept) forget_dead();
    snapshots_.insert_or_assign(text, out.runtime);
    return out;
}

void runtime_cache::forget_dead() {
    std::erase_if(snapshots_, [](const auto& s) { return s.second.expired(); });
    std::erase_if(live_, [](const auto& l) { return !l.second.made || l.second.made->use_count() == 1; });
}

}  // namespace cotrain::reconcile
