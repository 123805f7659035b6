// Deleting objects, and what follows from it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "sim/cluster.hpp"
#include "sim/shaping.hpp"

namespace cotrain::sim {
namespace {

constexpr std::string_view foreground = "foregroundDeletion";
constexpr std::string_view orphan = "orphan";

bool is_namespace(const kind& of) { return of.name == "Namespace" && of.group.empty(); }

bool holds(doc::ref object, std::string_view finalizer) {
    return std::ranges::any_of(object.get({"metadata", "finalizers"}).items(),
                               [&](doc::ref each) { return each.as_string() == finalizer; });
}

// Without that finalizer.
doc::ref released(doc::arena& memory, doc::ref object, std::string_view finalizer) {
    doc::editor out = doc::editor::of(memory, object);
    doc::editor metadata = out.child("metadata");
    doc::editor kept = doc::editor::array(memory);
    for (const doc::ref each : metadata.get("finalizers").items()) {
        if (each.as_string() != finalizer) kept.append(each);
    }
    if (kept.size() == 0) {
        metadata.remove("finalizers");
    } else {
        metadata.set("finalizers", kept);
    }
    return out;
}

}  // namespace

void cluster::rewrite(const kind& of, const record& state, doc::ref object) {
    doc::arena memory;
    doc::editor out = doc::editor::of(memory, object);
    out.child("metadata").set("resourceVersion", fmt::format("{}", store_.next_version()));
    record after = make_record(out);
    if (after.deleting && out.get({"metadata", "finalizers"}).empty()) {
        erase(of, after);
    } else {
        store_.put(of, std::move(after));
        to_collect_.push_back(state.uid);
    }
}

void cluster::undefine(const record& definition) {
    doc::arena memory;
    const kind* const gone = kinds_.withdraw(open(memory, definition));
    if (gone == nullptr) return;
    for (const record_ptr& each : store_.list(*gone, {.version = store_.version()})) erase(*gone, *each);
}

void cluster::erase(const kind& of, const record& state) {
    if (of.name == "CustomResourceDefinition") undefine(state);
    std::vector<std::string> above;
    for (const auto& [uid, blocks] : state.owners) above.push_back(uid);
    const std::string uid = state.uid;
    doc::arena memory;
    doc::editor last = doc::editor::of(memory, open(memory, state));
    last.child("metadata").set("resourceVersion", fmt::format("{}", store_.next_version()));
    record gone = make_record(last);
    const std::string ns = gone.ns;
    const std::string name = gone.name;
    store_.erase(of, ns, name, std::move(gone));
    to_collect_.push_back(uid);
    for (std::string& owner : above) to_collect_.push_back(std::move(owner));
}

outcome<written> cluster::finalize(const target& at, doc::ref document, const write_options& with) {
    auto found = get(at);
    if (!found) return std::unexpected(std::move(found.error()));
    doc::arena memory;
    doc::editor out = doc::editor::of(memory, open(memory, **found));
    const doc::ref left = document.get({"spec", "finalizers"});
    doc::editor spec = out.ensure_object("spec");
    if (left.empty()) {
        spec.remove("finalizers");
    } else {
        spec.set("finalizers", left);
    }
    if ((*found)->deleting && left.empty() && out.get({"metadata", "finalizers"}).empty()) {
        written done{.json = doc::to_json(out)};
        if (!with.dry_run) erase(*at.of, **found);
        return done;
    }
    return keep(at, out, found->get(), with, {});
}

outcome<written> cluster::remove(const target& at, const removal& how, base::seconds_time now) {
    auto found = get(at);
    if (!found) return std::unexpected(std::move(found.error()));
    const record_ptr state = *found;
    if (!how.uid.empty() && how.uid != state->uid)
        return std::unexpected(in_conflict(
            *at.of, at.name,
            fmt::format("Precondition failed: UID in precondition: {}, UID in object meta: {}", how.uid, state->uid)));
    if (!how.resource_version.empty() && how.resource_version != fmt::format("{}", state->version))
        return std::unexpected(in_conflict(
            *at.of, at.name,
            fmt::format("Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}",
                        how.resource_version, state->version)));
    if (is_namespace(*at.of) && (at.name == "default" || at.name == "kube-system"))
        return std::unexpected(forbidden(*at.of, at.name, "this namespace may not be deleted"));
    std::vector<std::string> warnings;
    if (auto fine = ask_about_end(at, *state, how, warnings); !fine) return std::unexpected(std::move(fine.error()));
    if (how.dry_run) return written{.json = success_status(*at.of, at.name, state->uid)};
    remove_held({at.of, {at.ns, at.name}}, how.dependents, now);
    if (const record_ptr left = store_.find(*at.of, at.ns, at.name); left && left->uid == state->uid)
        return written{.json = left->json};
    return written{.json = success_status(*at.of, at.name, state->uid)};
}

void cluster::remove_held(const object_id& what, propagation dependents, base::seconds_time now) {
    const record_ptr state = store_.find(*what.of, what.key.first, what.key.second);
    if (!state) return;
    doc::arena memory;
    const doc::ref object = open(memory, *state);
    doc::editor out = doc::editor::of(memory, object);
    doc::editor metadata = out.child("metadata");
    const std::string_view wanted = dependents == propagation::foreground ? foreground
                                    : dependents == propagation::orphan   ? orphan
                                                                          : std::string_view{};
    for (const std::string_view each : {foreground, orphan}) {
        if (each != wanted && holds(out, each)) {
            out = doc::editor::of(memory, released(memory, out, each));
            metadata = out.child("metadata");
        }
    }
    if (!wanted.empty() && !holds(out, wanted)) metadata.ensure_array("finalizers").append(wanted);
    const bool space = is_namespace(*what.of);
    if (!space && metadata.get("finalizers").empty()) {
        erase(*what.of, *state);
        return;
    }
    if (!metadata.contains("deletionTimestamp")) {
        metadata.set("deletionTimestamp", base::format_time(now)).set("deletionGracePeriodSeconds", 0);
        if (const auto generation = metadata.get("generation").as_int()) metadata.set("generation", *generation + 1);
        if (space) {
            out.ensure_object("status").set("phase", "Terminating");
            metadata.remove("deletionGracePeriodSeconds");
            ending_namespaces_.push_back(state->name);
        }
    } else if (equal(object, out)) {
        return;
    }
    if (space) {
        // Its own finalizer is in the spec; collect_namespace() ends it.
        metadata.set("resourceVersion", fmt::format("{}", store_.next_version()));
        store_.put(*what.of, make_record(out));
        return;
    }
    rewrite(*what.of, *state, out);
}

void cluster::leave_garbage() {
    to_collect_.clear();
    to_judge_.clear();
    ending_namespaces_.clear();
}

bool cluster::collect(base::seconds_time now) {
    if (!to_judge_.empty()) {
        const object_id id = std::move(to_judge_.front());
        to_judge_.pop_front();
        const record_ptr state = store_.find(*id.of, id.key.first, id.key.second);
        for (const auto& [uid, blocks] : state ? state->owners : decltype(record::owners){}) {
            if (!store_.exists(uid)) to_collect_.push_back(uid);
        }
        return true;
    }
    if (!to_collect_.empty()) {
        const std::string uid = std::move(to_collect_.front());
        to_collect_.pop_front();
        collect_one(uid, now);
        return true;
    }
    for (const std::string& name : ending_namespaces_) {
        const record_ptr space = store_.find(*kinds_.find("", "v1", "namespaces"), "", name);
        if (space && space->deleting && collect_namespace(*space, now)) return true;
    }
    std::erase_if(ending_namespaces_, [&](const std::string& name) {
        return store_.find(*kinds_.find("", "v1", "namespaces"), "", name) == nullptr;
    });
    return false;
}

// The owner with that uid is gone, or is being deleted with its dependents.
void cluster::collect_one(const std::string& uid, base::seconds_time now) {
    doc::arena memory;
    const auto id = store_.find_uid(uid);
    const record_ptr owner = id ? store_.find(*id->of, id->key.first, id->key.second) : nullptr;
    if (owner && !owner->deleting) return;
    const doc::ref object = owner ? open(memory, *owner) : doc::ref{};
    const std::vector<object_id> dependents = store_.dependents(uid);
    if (owner && holds(object, orphan)) {
        for (const object_id& each : dependents) {
            const record_ptr state = store_.find(*each.of, each.key.first, each.key.second);
            doc::editor out = doc::editor::of(memory, open(memory, *state));
            out.child({"metadata", "ownerReferences"}).remove_by("uid", uid);
            if (out.get({"metadata", "ownerReferences"}).empty()) out.child("metadata").remove("ownerReferences");
            rewrite(*each.of, *state, out);
        }
        rewrite(*id->of, *owner, released(memory, object, orphan));
        return;
    }
    if (owner && !holds(object, foreground)) return;
    bool blocked = false;
    for (const object_id& each : dependents) {
        const record_ptr state = store_.find(*each.of, each.key.first, each.key.second);
        const bool waits =
            std::ranges::any_of(state->owners, [&](const auto& o) { return o.first == uid && o.second; });
        const bool others_left =
            std::ranges::any_of(state->owners, [&](const auto& o) { return o.first != uid && store_.exists(o.first); });
        if (others_left) continue;
        if (!state->deleting)
            remove_held(each, owner && waits ? propagation::foreground : propagation::background, now);
        blocked = blocked || (waits && store_.find(*each.of, each.key.first, each.key.second) != nullptr);
    }
    if (owner && !blocked) rewrite(*id->of, *owner, released(memory, object, foreground));
}

// Whether something was done.
bool cluster::collect_namespace(const record& space, base::seconds_time now) {
    list_wish any{.ns = space.name, .version = store_.version(), .items_max = 1};
    list_wish next = any;
    next.takes = [](const record& each) { return !each.deleting; };
    bool left = false;
    for (const auto& each : kinds_.all()) {
        if (!each->namespaced || store_.list(*each, any).empty()) continue;
        left = true;
        const std::vector<record_ptr> found = store_.list(*each, next);
        if (found.empty()) continue;
        remove_held({each.get(), {found[0]->ns, found[0]->name}}, propagation::background, now);
        return true;
    }
    if (left) return false;
    erase(*kinds_.find("", "v1", "namespaces"), space);
    return true;
}

}  // namespace cotrain::sim
