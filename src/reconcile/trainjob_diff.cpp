// What need not be planned, and of a plan what need not be sent.
#include <algorithm>

#include "api/json.hpp"
#include "reconcile/trainjob_attempt.hpp"
#include "reconcile/trainjob_compare.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using runtime::child_state;
using watch::kind;

bool known_by_metadata(kind k) { return k == kind::config_map || k == kind::secret; }

const runtime::observed_child* find_child(const std::vector<runtime::observed_child>& list, kind of,
                                          std::uint64_t name) {
    const auto found = std::ranges::find_if(list, [&](const runtime::observed_child& c) {
        return kind_of(*c.type) == of && watch::hash_bytes(c.name) == name;
    });
    return found == list.end() ? nullptr : &*found;
}

// The found one may have more labels: others put theirs there.
bool labels_so(api::ref wanted, api::ref found) {
    return std::ranges::all_of(wanted.members(),
                               [&](const api::member& m) { return equal(m.value, found.get(m.key())); });
}

}  // namespace

std::vector<needed_child> needed_by(const runtime::compiled_runtime& r) {
    std::vector<needed_child> out;
    if (r.ml() != nullptr && r.ml()->mpi) {
        out.push_back({&names::secret, names::ssh_auth_suffix});
        out.push_back({&names::config_map, names::hostfile_suffix});
    }
    if (r.ml() != nullptr && r.ml()->flux) {
        out.push_back({&names::config_map, names::flux_entrypoint_suffix});
        out.push_back({&names::secret, names::flux_curve_suffix});
    }
    if (r.pod_groups() != nullptr && r.pod_groups()->coscheduling) out.push_back({&names::coscheduling_pod_group, {}});
    if (r.pod_groups() != nullptr && r.pod_groups()->volcano) out.push_back({&names::volcano_pod_group, {}});
    return out;
}

// The JobSet of a running job is left alone, so no plan is needed unless another child is missing or was changed.
bool trainjob_reconciler::must_plan(attempt& a) {
    const job_records seen = find_records(all_, a.key);
    if (seen.job == nullptr || !seen.owns_set() || seen.job->suspend || seen.set->suspend) return true;
    const auto children = children_of(a, seen);
    const auto snapshot = watch::hash_bytes(runtime::child_name(a.job, names::snapshot_suffix));
    const auto* const kept = find_child(children, kind::config_map, snapshot);
    if (kept == nullptr || kept->state != child_state::ours) return true;
    job_memory& memory = memories_[a.key];
    if (!memory.known && !adopt(a, memory, children)) return true;
    return std::ranges::any_of(memory.children, [&](const child_memory& c) {
        if (c.of == kind::job_set || c.name == snapshot) return false;
        const auto* const now = find_child(children, c.of, c.name);
        if (now == nullptr || now->state == child_state::foreign) return true;
        if (!known_by_metadata(c.of) || c.of == kind::secret) return false;
        return all_.find(c.of, a.job.meta.ns, now->name)->version != c.left;
    });
}

// After a start: children that are there count as right. Whether one is missing the runtime's name tells well enough;
// whether a Secret is, nobody knows before Pods start again (trainjob_secrets.cpp).
bool trainjob_reconciler::adopt(attempt& a, job_memory& memory, const std::vector<runtime::observed_child>& children) {
    const auto runtime = runtimes_.live(a.job);
    if (runtime) {
        for (const needed_child& need : needed_by(**runtime)) {
            if (need.type == &names::secret) continue;
            const auto name = watch::hash_bytes(runtime::child_name(a.job, need.suffix));
            const auto* const found = find_child(children, kind_of(*need.type), name);
            if (found == nullptr || found->state == child_state::foreign) return false;
        }
        for (const needed_child& need : needed_by(**runtime)) {
            if (need.type == &names::secret) continue;
            memory.at(kind_of(*need.type), watch::hash_bytes(runtime::child_name(a.job, need.suffix)));
        }
    }
    memory.known = true;
    for (const runtime::observed_child& c : children) {
        const kind of = kind_of(*c.type);
        if (c.state != child_state::ours || !known_by_metadata(of)) continue;
        memory.at(of, watch::hash_bytes(c.name)).left = all_.find(of, a.job.meta.ns, c.name)->version;
    }
    return true;
}

// A child that others have changed, or taken away, after we applied the very same is repaired: not without end.
void trainjob_reconciler::diff(attempt& a, std::vector<step>& steps) {
    const stage_timer timer(timings_, stage::diff);
    const auto is_set = [](const step& s) { return s.object.type == &names::job_set; };
    const auto set = std::ranges::find_if(steps, is_set);
    const bool set_changes = set != steps.end() && !is_so(a, set->object, false);
    job_memory& memory = memories_[a.key];
    for (step& s : steps) {
        if (is_foreign(a, s.object)) continue;  // apply() refuses it
        s.so = is_set(s) ? !set_changes : is_so(a, s.object, set_changes);
        if (s.so) {
            ++counts_.skipped;
            continue;
        }
        const kind of = kind_of(*s.object.type);
        const auto* const before = memory.find(of, watch::hash_bytes(s.object.name));
        if (before == nullptr || before->sent != watch::hash_bytes(s.object.json)) continue;
        const moment now = with_.steady();
        s.repairs = memory.may_repair(now);
        if (!s.repairs) {
            s.so = true;
            a.pause =
                std::max<std::chrono::nanoseconds>(memory.last_repair + repair_pause - now, std::chrono::seconds(1));
        }
    }
}

bool trainjob_reconciler::is_so(attempt& a, const runtime::object& wanted, bool set_changes) const {
    const kind of = kind_of(*wanted.type);
    const auto& store = all_.store(of);
    const auto at = store.find(a.job.meta.ns, wanted.name);
    if (!at) return false;
    if (of == kind::secret) return true;  // made once
    const std::uint64_t print = watch::hash_bytes(wanted.json);
    const auto memory = memories_.find(a.key);
    const child_memory* const before =
        memory == memories_.end() ? nullptr
                                  : const_cast<job_memory&>(memory->second).find(of, watch::hash_bytes(wanted.name));
    const bool sent_before = before != nullptr && before->sent != 0;
    if (known_by_metadata(of)) {
        if (before != nullptr && before->left != store.get(*at)->version) return false;
        return sent_before ? before->sent == print : !set_changes;
    }
    const watch::object_body* const body = store.body(*at);
    if (body == nullptr) return false;
    if (sent_before && before->sent != print) return false;  // it may have to lose something
    if (sent_before && before->left == body->spec_print) return true;
    if (body->spec_left_out) return false;  // once after a start
    const auto plan = api::parse_json(a.memory, wanted.json);
    const auto found = api::parse_json_copy(a.memory, body->spec().empty() ? "{}" : body->spec());
    if (!plan || !found || !already_so(plan->get("spec"), *found)) return false;
    if (of != kind::job_set) return true;
    const auto extra = api::parse_json_copy(a.memory, body->extra().empty() ? "{}" : body->extra());
    return extra && labels_so(plan->get({"metadata", "labels"}), extra->get("labels")) &&
           labels_so(plan->get({"metadata", "annotations"}), extra->get("annotations"));
}

}  // namespace cotrain::reconcile
