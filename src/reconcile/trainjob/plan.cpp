#include "reconcile/trainjob/plan.hpp"

#include <algorithm>
#include <array>

#include "doc/json.hpp"
#include "runtime/guards.hpp"

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using runtime::child_state;
using watch::kind;

child_state state_of(const job_view& v, const job_history& known, const child_type& c,
                     const watch::object_record& found) {
    if (v.owns(&found)) return child_state::ours;
    if (!found.owner.empty()) return child_state::foreign;
    const bool usable =
        c.premade != nullptr && (c.is_secret() ? known.rarely().premade_secret == found.id : c.premade({}));
    return usable ? child_state::premade : child_state::foreign;
}

// The found one may have more labels: others put theirs there.
bool labels_so(doc::ref wanted, doc::ref found) {
    return std::ranges::all_of(wanted.members(),
                               [&](const doc::member& m) { return equal(m.value, found.get(m.key())); });
}

// Compares what was not sent by this process, or not in this form.
bool is_as_planned(const job_view& v, progress& p, const step& s, bool set_changes) {
    if (s.scales()) return false;  // only planned where the JobSet, as it was just read, has other counts
    const stored_object found = v.find(s.of, s.object.name);
    const child_digest* const before = p.history.find(s.of, s.name);
    const bool sent_before = before != nullptr && before->sent != 0;
    if (is_file(s.of)) {
        if (before != nullptr && before->left != found.record->version) return false;
        return sent_before ? before->sent == s.digest : !set_changes;
    }
    if (found.body == nullptr) return false;
    if (sent_before && before->sent != s.digest) return false;  // it may have to lose something
    if (sent_before && before->left == found.state()) return true;
    if (found.body->spec_left_out) return false;  // once after a start
    const auto plan = doc::parse_json(p.memory, s.object.json);
    const auto there = doc::parse_json_copy(p.memory, found.body->spec().empty() ? "{}" : found.body->spec());
    if (!plan || !there || !already_so(plan->get("spec"), *there)) return false;
    if (s.of != kind::job_set) return true;
    const auto extra = doc::parse_json_copy(p.memory, found.body->extra().empty() ? "{}" : found.body->extra());
    return extra && labels_so(plan->get({"metadata", "labels"}), extra->get("labels")) &&
           labels_so(plan->get({"metadata", "annotations"}), extra->get("annotations"));
}

}  // namespace

std::vector<found_child> find_children(const job_view& v, const job_history& known) {
    std::vector<found_child> out;
    for (const child_type& c : *v.children) {
        const stored_object now = v.find(c);
        if (now.record == nullptr) continue;
        std::string name(v.name());
        name.append(c.suffix);
        const child_state state = state_of(v, known, c, *now.record);
        out.push_back({&c, std::move(name), now, state});
    }
    return out;
}

bool children_are_known_good(const job_view& v, const job_history& known) {
    if (!known.known || !v.owns_set() || v.job->suspend || v.set->suspend) return false;
    if (!v.owns(v.snapshot().record)) return false;
    const std::vector<found_child> children = find_children(v, known);
    return std::ranges::all_of(known.children, [&](const child_digest& c) {
        const auto is_it = [&](const found_child& f) {
            return f.type->of == c.of && watch::hash_bytes(f.name) == c.name;
        };
        const auto found = std::ranges::find_if(children, is_it);
        if (c.of == kind::job_set) return true;
        if (found == children.end() || !found->usable()) return false;
        const bool compared = c.of == kind::config_map && found->type != &v.children->snapshot();
        return !compared || found->now.record->version == c.left;
    });
}

void adopt_children(const job_view& v, job_history& known, const runtime::compiled_runtime* runtime) {
    if (known.known || !v.owns_set() || v.job->suspend || v.set->suspend) return;
    if (!v.owns(v.snapshot().record)) return;
    const std::vector<found_child> children = find_children(v, known);
    std::vector<const child_type*> needed;
    for (const child_type& c : *v.children)
        if (runtime != nullptr && c.needed(*runtime) && !c.is_secret()) needed.push_back(&c);
    for (const child_type* const c : needed) {
        const auto found = std::ranges::find(children, c, &found_child::type);
        if (found == children.end() || !found->usable()) return;
    }
    for (const child_type* const c : needed)
        known.at(c->of, watch::hash_bytes(std::string(v.name()).append(c->suffix)));
    for (const found_child& c : children) {
        if (is_file(c.type->of) && c.state == child_state::ours)
            known.at(c.type->of, watch::hash_bytes(c.name)).left = c.now.record->version;
    }
    known.known = true;
}

standing standing_of(const job_view& v, const progress& p, const step& s, moment now) {
    if (s.closed) return {standing::closed};
    const stored_object found = v.find(s.of, s.object.name);
    if (found.record != nullptr && !v.owns(found.record)) return {standing::apply};  // which is refused
    const bool so = (s.type != nullptr && s.type->immutable) || (s.good && *s.good == found.state());
    if (found.record != nullptr && so) return {standing::so};
    const child_digest* const before = p.history.find(s.of, s.name);
    if (before == nullptr || before->sent != s.digest) return {standing::apply};
    if (p.history.rarely().may_repair(now)) return {standing::repair};
    const std::chrono::nanoseconds rest = p.history.rarely().last_repair + repair_pause - now;
    return {standing::wait, std::max<std::chrono::nanoseconds>(rest, std::chrono::seconds(1))};
}

void compare_plan(const job_view& v, progress& p) {
    const auto compare = [&](step& s, bool set_changes) {
        const stored_object found = v.find(s.of, s.object.name);
        if (found.record == nullptr || !v.owns(found.record)) return;
        if ((s.type != nullptr && s.type->immutable) || is_as_planned(v, p, s, set_changes)) s.good = found.state();
    };
    const auto set = std::ranges::find(*p.steps, kind::job_set, &step::of);
    if (set != p.steps->end()) compare(*set, false);
    const bool set_changes = set != p.steps->end() && !set->good && !set->scales();
    for (step& s : *p.steps)
        if (s.of != kind::job_set) compare(s, set_changes);
}

}  // namespace cotrain::reconcile
