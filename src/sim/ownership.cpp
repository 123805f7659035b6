#include "sim/ownership.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "doc/edit.hpp"

namespace cotrain::sim {

namespace {

// What is said by every object and belongs to nobody.
const field_set& unowned() {
    static const field_set set = [] {
        field_set out;
        for (const char* name : {"apiVersion", "kind", "metadata"}) out.insert(path{path_element::field(name)});
        for (const char* name : {"name", "namespace", "creationTimestamp", "selfLink", "uid", "clusterName",
                                 "generation", "managedFields", "resourceVersion"}) {
            out.insert(path{path_element::field("metadata"), path_element::field(name)});
        }
        return out;
    }();
    return set;
}

manager_id identify(const ownership_rules& rules, std::string_view manager, bool applies) {
    return {manager.empty() ? "unknown" : std::string{manager}, applies, applies ? std::string{} : rules.api_version,
            rules.subresource};
}

void drop_empty(owners& all) {
    std::erase_if(all, [](const owners::value_type& each) { return each.second.set.empty(); });
}

// What `self` changes is taken from the others, what it removes is nobody's. Nothing happens on conflicts unless
// forced.
conflicts take(const comparison& changes, owners& all, const manager_id* self, bool force) {
    const field_set written = unite(changes.modified, changes.added);
    conflicts found;
    owners after = all;
    for (auto& [id, fields] : after) {
        if (self != nullptr && id == *self) continue;
        const field_set lost = intersect(fields.set, written);
        lost.each([&](const path& where) { found.push_back({id, where}); });
        fields.set = subtract(subtract(fields.set, lost), changes.removed);
    }
    if (!force && !found.empty()) return found;
    all = std::move(after);
    drop_empty(all);
    return {};
}

comparison changes_between(const ownership_rules& rules, doc::ref live, doc::ref wanted) {
    comparison out = compare(rules.schema, live, wanted);
    for (field_set* each : {&out.removed, &out.modified, &out.added}) *each = subtract_trees(*each, rules.ignored);
    return out;
}

void fold_old_updates(owners& all) {
    std::vector<manager_id> updates;
    for (const auto& [id, fields] : all) {
        if (!id.applies) updates.push_back(id);
    }
    std::size_t count = updates.size();
    if (count <= update_managers_max) return;
    std::ranges::stable_sort(updates, {}, [&](const manager_id& id) { return all.at(id).time; });
    std::map<std::string, manager_id> first;  // by version
    for (const manager_id& id : updates) {
        if (count <= update_managers_max) break;
        owned_fields fields = all.at(id);
        const auto [known, fresh] = first.emplace(fields.api_version, id);
        if (fresh) continue;
        const manager_id bucket{"ancient-changes", false, fields.api_version, {}};
        if (!all.contains(bucket)) {
            all[bucket] = std::move(all.at(known->second));
            all.erase(known->second);
        }
        if (id != bucket) all.erase(id);
        all[bucket].set = unite(all[bucket].set, fields.set);
        all[bucket].time = fields.time;
        --count;
    }
}

// Takes out of `merged` what this manager applied before and applies no more, unless somebody else owns it.
doc::ref drop_forsaken(doc::arena& memory, const schema_node* schema, doc::ref merged, const field_set& last,
                       const owners& all) {
    if (last.empty()) return merged;
    const field_set before = with_named_members(schema, last);
    const field_set whole = with_named_members(schema, fields_of(schema, merged));
    const auto rest_of = [&](doc::ref value) { return with_named_members(schema, fields_of(schema, value)); };
    doc::ref pruned = without(memory, schema, merged, before);
    // What others own stays, with what lies above it.
    field_set owned;
    for (const auto& [id, fields] : all) owned = unite(owned, fields.set);
    const field_set kept = unite(rest_of(pruned), with_named_members(schema, owned));
    pruned = without(memory, schema, merged, subtract(whole, kept));
    // What fell out only because something above it did, and was never applied, stays too.
    return without(memory, schema, merged, intersect(subtract(whole, rest_of(pruned)), before));
}

}  // namespace

void own_update(const ownership_rules& rules, doc::ref live, doc::ref wanted, owners& all, std::string_view manager,
                std::string_view now) {
    const comparison changes = changes_between(rules, live, wanted);
    (void)take(changes, all, nullptr, true);
    field_set set = unite(changes.modified, changes.added);
    set = subtract(subtract_trees(set, rules.ignored), unowned());
    if (!set.empty()) {
        owned_fields& mine = all[identify(rules, manager, false)];
        mine.set = unite(mine.set, set);
        mine.api_version = rules.api_version;
        mine.time = now;
    }
    fold_old_updates(all);
}

std::expected<applied, std::variant<conflicts, apply_fault>> own_apply(doc::arena& memory, const ownership_rules& rules,
                                                                       doc::ref live, doc::ref config, owners& all,
                                                                       std::string_view manager, bool force,
                                                                       std::string_view now) {
    if (auto fit = check_mergeable(rules.schema, config, duplicates::refused); !fit)
        return std::unexpected(apply_fault{fit.error()});
    const manager_id self = identify(rules, manager, true);
    owners after = all;
    // Fields that nobody is known to have written belong to the manager that was there before the first apply.
    if (after.empty()) {
        const doc::ref nothing = doc::ref::empty_object();
        own_update(rules, nothing, live, after, "before-first-apply", now);
    }
    const auto known = after.find(self);
    const field_set last = known == after.end() ? field_set{} : known->second.set;
    std::string time = known == after.end() ? std::string{} : known->second.time;
    after[self] = {subtract_trees(fields_of(rules.schema, config), rules.ignored), rules.api_version, std::move(time)};

    const doc::ref merged =
        drop_forsaken(memory, rules.schema, sim::merge(memory, rules.schema, live, config), last, after);
    if (auto found = take(changes_between(rules, live, merged), after, &self, force); !found.empty())
        return std::unexpected(std::move(found));
    const bool changed = !equal(live, merged);
    if (const auto mine = after.find(self); mine != after.end()) {
        mine->second.set = subtract(mine->second.set, unowned());
        if (changed) mine->second.time = now;
    }
    drop_empty(after);
    all = std::move(after);
    return applied{changed ? merged : live, changed};
}

std::string to_string(const manager_id& id) {
    std::string out = fmt::format("\"{}\"", id.name);
    if (!id.subresource.empty()) out += fmt::format(" with subresource \"{}\"", id.subresource);
    if (!id.applies) out += " using " + id.api_version;
    return out;
}

owners read_owners(doc::ref managed_fields) {
    owners out;
    for (const doc::ref entry : managed_fields.items()) {
        const std::string_view operation = entry.get("operation").as_string();
        const std::string version{entry.get("apiVersion").as_string()};
        const bool applies = operation == "Apply";
        if ((!applies && operation != "Update") || version.empty() ||
            entry.get("fieldsType").as_string() != "FieldsV1") {
            return {};
        }
        manager_id id{std::string{entry.get("manager").as_string()}, applies, applies ? std::string{} : version,
                      std::string{entry.get("subresource").as_string()}};
        out[std::move(id)] = {read_fields(entry.get("fieldsV1")), version, std::string{entry.get("time").as_string()}};
    }
    return out;
}

doc::ref write_owners(doc::arena& memory, const owners& all) {
    if (all.empty()) return {};
    std::vector<const owners::value_type*> sorted;
    for (const auto& each : all) sorted.push_back(&each);
    const auto rank = [](const owners::value_type* each) {
        const auto& [id, fields] = *each;
        return std::tuple(id.applies ? 0 : 1, fields.time, id.name, fields.api_version, id.subresource);
    };
    std::ranges::sort(sorted, {}, rank);
    doc::editor out = doc::editor::array(memory);
    for (const auto* each : sorted) {
        const auto& [id, fields] = *each;
        doc::editor entry = out.append_object();
        entry.set("apiVersion", fields.api_version);
        entry.set("fieldsType", "FieldsV1").set("fieldsV1", write_fields(memory, fields.set));
        if (!id.name.empty()) entry.set("manager", id.name);
        entry.set("operation", id.applies ? "Apply" : "Update");
        if (!id.subresource.empty()) entry.set("subresource", id.subresource);
        if (!fields.time.empty()) entry.set("time", fields.time);
    }
    return out.view();
}

}  // namespace cotrain::sim
