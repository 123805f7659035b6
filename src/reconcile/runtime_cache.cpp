// Compiling runtimes once per version, and snapshots once per text.
#include "reconcile/runtime_cache.hpp"

#include <utility>

#include "api/runtime.hpp"
#include "base/json_text.hpp"
#include "base/time.hpp"
#include "doc/json.hpp"
#include "runtime/compiled_runtime.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;

// Runtimes that nobody uses any more leave when there are this many.
constexpr std::size_t runtimes_kept = 1024;
// Far above ordinary ones, which take a few kilobytes.
constexpr std::size_t large_runtime_bytes = 128UL << 10U;

std::unexpected<base::error> not_there(const api::runtime_ref& wanted, std::string_view ns) {
    std::string message(wanted.kind);
    message.append(" ").append(wanted.kind == names::training_runtime_kind ? std::string(ns) + "/" : "");
    message.append(wanted.name).append(" does not exist: create it, the TrainJob starts then");
    base::error e = base::make_error(base::errc::invalid, base::retry::later, std::move(message));
    e.reason = "RuntimeNotFound";
    return base::fail(std::move(e));
}

// It is there, but not kept.
std::unexpected<base::error> left_out(const api::runtime_ref& wanted, std::string_view ns, const watch::spec_room& room,
                                      watch::text_id key) {
    const bool namespaced = wanted.kind == names::training_runtime_kind;
    std::string message(wanted.kind);
    message.append(" ").append(namespaced ? std::string(ns) + "/" : "").append(wanted.name);
    const auto now = room.about(key);
    if (room.wants(key) || !now) {
        base::error e = base::make_error(base::errc::invalid, base::retry::later, message.append(" is being read"));
        e.reason = "RuntimeNotRead";
        return base::fail(std::move(e));
    }
    message.append(" of ").append(std::to_string(now->bytes)).append(" bytes is not kept: of the ");
    message.append(std::to_string(now->namespace_bytes)).append(" bytes of all ").append(wanted.kind).append("s");
    if (namespaced) message.append(" in namespace ").append(ns);
    message.append(" the operator keeps the smallest, ").append(std::to_string(now->share_bytes));
    message.append(" bytes; make it smaller or delete others");
    base::error e = base::make_error(base::errc::invalid, base::retry::later, std::move(message));
    e.reason = "RuntimesTooLarge";
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
    const auto [ns, name] = watch::split_key(all_.texts().view(record.key));
    doc::arena memory;
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
        text.append(base::format_time(base::seconds_time{std::chrono::seconds{record.created}})).append("\"");
    }
    // Labels, annotations and finalizers: an object, of which the braces are ours.
    if (const std::string_view rest = body.extra(); rest.size() > 2) text.append(",").append(rest.substr(1));
    if (body.extra().size() <= 2) text.append("}");
    text.append(R"(,"spec":)").append(spec.empty() ? "{}" : spec).append("}");
    const auto document = doc::parse_json(memory, text);
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
        if (at && store.room() != nullptr) return left_out(wanted, job.meta.ns, *store.room(), store.get(*at)->key);
        return not_there(wanted, job.meta.ns);
    }
    const watch::object_record& record = *store.get(*at);
    const auto known = live_.find(key);
    if (known != live_.end() && known->second.version == record.version && known->second.id == record.id) {
        if (known->second.failure) return base::fail(*known->second.failure);
        if (compiled same = use(known->second.made)) return same;
    }
    if (live_.size() >= runtimes_kept) forget_dead();
    auto made = compile(of, record, *store.body(*at));
    entry now{.version = record.version, .id = record.id};
    if (made) {
        keep(*made);
        now.made = *made;
    } else {
        now.failure = made.error();
    }
    live_.insert_or_assign(key, std::move(now));
    return made;
}

base::result<runtime_cache::snapshot> runtime_cache::from_snapshot(const api::train_job& job,
                                                                   std::string_view config_map,
                                                                   std::string_view recorded) {
    doc::arena memory;
    const auto document = doc::parse_json(memory, config_map);
    if (!document) return base::fail(document.error());
    const std::string text(document->get({"data", names::snapshot_key}).as_string());
    std::string hash = api::snapshot_hash(text);
    const auto known = snapshots_.find(hash);
    compiled same = known == snapshots_.end() ? nullptr : use(known->second);
    // Whose it is and what it holds is checked for each job.
    auto made = runtime::read_snapshot(job, *document, recorded);
    if (!made) {
        base::error e = std::move(made.error());
        if (e.reason.empty()) e.reason = "InvalidSnapshot";
        return base::fail(std::move(e));
    }
    snapshot out{std::move(same), std::move(hash), document->get("immutable").as_bool(false)};
    if (out.runtime != nullptr) return out;
    out.runtime = std::move(*made);
    keep(out.runtime);
    if (snapshots_.size() >= runtimes_kept) forget_dead();
    snapshots_.insert_or_assign(out.hash, out.runtime);
    return out;
}

bool runtime_cache::is_large(watch::text_id key) const {
    const std::string_view text = all_.texts().view(key);
    const std::size_t kind_ends = text.find('/');
    if (kind_ends == text.npos) return false;
    const bool namespaced = text.substr(0, kind_ends) == names::training_runtime_kind;
    const auto& store = all_.store(namespaced ? watch::kind::training_runtime : watch::kind::cluster_training_runtime);
    const auto at = store.find(all_.texts().find(text.substr(kind_ends + 1)));
    if (!at) return false;
    const watch::object_body* const body = store.body(*at);
    return body == nullptr || body->bytes() > large_runtime_bytes;
}

runtime_cache::compiled runtime_cache::use(const std::weak_ptr<const runtime::compiled_runtime>& known) {
    compiled found = known.lock();
    if (found != nullptr) keep(found);
    return found;
}

void runtime_cache::keep(const compiled& made) {
    if (const auto at = places_.find(made.get()); at != places_.end()) {
        kept_.splice(kept_.begin(), kept_, at->second);
        return;
    }
    kept_.push_front(made);
    places_.emplace(made.get(), kept_.begin());
    bytes_ += made->bytes();
    while (bytes_ > bytes_max_ && kept_.size() > 1) {
        bytes_ -= kept_.back()->bytes();
        places_.erase(kept_.back().get());
        kept_.pop_back();
    }
}

void runtime_cache::forget_dead() {
    std::erase_if(snapshots_, [](const auto& s) { return s.second.expired(); });
    std::erase_if(live_, [](const auto& l) { return l.second.made.expired(); });
}

}  // namespace cotrain::reconcile
