#include "sim/store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/cluster.hpp"

namespace cotrain::sim {

namespace {

std::size_t bytes_of(const change& what) {
    return sizeof(change) + (what.after ? what.after->json.size() : what.last ? what.last->json.size() : 0);
}

using relation = requirement::relation;
constexpr std::string_view spaces = " \t";

std::string_view trimmed(std::string_view text) {
    const std::size_t from = text.find_first_not_of(spaces);
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(spaces) - from + 1);
}

// At commas outside of parentheses.
std::vector<std::string_view> split(std::string_view text) {
    std::vector<std::string_view> out;
    std::size_t from = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i == text.size() || (text[i] == ',' && depth == 0)) {
            out.push_back(trimmed(text.substr(from, i - from)));
            from = i + 1;
        } else {
            depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        }
    }
    return out;
}

bool is_word(std::string_view text) {
    return !text.empty() && text.find_first_of(" \t()!=,<>") == std::string_view::npos;
}

// "name=value", "name==value", "name!=value"
bool read_equality(std::string_view text, requirement& out) {
    const std::size_t sign = text.find('=');
    if (sign == std::string_view::npos) return false;
    const bool differs = sign > 0 && text[sign - 1] == '!';
    const bool doubled = sign + 1 < text.size() && text[sign + 1] == '=';
    out.name = trimmed(text.substr(0, sign - (differs ? 1 : 0)));
    out.how = differs ? relation::not_among : relation::among;
    out.values = {std::string{trimmed(text.substr(sign + (doubled ? 2 : 1)))}};
    return is_word(out.name) && (out.values[0].empty() || is_word(out.values[0]));
}

// "name in (a, b)", "name notin (a)"
bool read_membership(std::string_view text, requirement& out) {
    const std::size_t open = text.find('(');
    if (open == std::string_view::npos || text.back() != ')') return false;
    const std::string_view head = trimmed(text.substr(0, open));
    const std::size_t gap = head.find_last_of(spaces);
    if (gap == std::string_view::npos) return false;
    const std::string_view word = head.substr(gap + 1);
    if (word != "in" && word != "notin") return false;
    out.name = trimmed(head.substr(0, gap));
    out.how = word == "in" ? relation::among : relation::not_among;
    for (const std::string_view value : split(text.substr(open + 1, text.size() - open - 2)))
        out.values.emplace_back(value);
    return is_word(out.name);
}

bool read_label(std::string_view text, requirement& out) {
    if (text.empty()) return false;
    if (text.back() == ')') return read_membership(text, out);
    if (text.find('=') != std::string_view::npos) return read_equality(text, out);
    out.how = text.front() == '!' ? relation::absent : relation::exists;
    out.name = trimmed(out.how == relation::absent ? text.substr(1) : text);
    return is_word(out.name);
}

bool holds(const requirement& wanted, const std::string* value) {
    const bool among = value != nullptr && std::ranges::find(wanted.values, *value) != wanted.values.end();
    switch (wanted.how) {
        case relation::exists: return value != nullptr;
        case relation::absent: return value == nullptr;
        case relation::among: return among;
        case relation::not_among: return !among;
    }
    return false;
}

doc::ref at_path(doc::ref at, std::string_view path) {
    while (!path.empty()) {
        const std::size_t dot = path.find('.');
        at = at.get(path.substr(0, dot));
        path = dot == std::string_view::npos ? std::string_view{} : path.substr(dot + 1);
    }
    return at;
}

// Another kind's form takes what it renames; unknown names then find nothing.
bool is_selectable(const kind& of, const std::string& name) {
    return name == "metadata.name" || name == "metadata.namespace" || of.of_other.has_value() ||
           std::ranges::find(of.selectable, name) != of.selectable.end();
}

}  // namespace

record_ptr store::find(const kind& of, std::string_view ns, std::string_view name) const {
    const auto all = objects_.find(&of);
    if (all == objects_.end()) return nullptr;
    const auto found = all->second.find({std::string{ns}, std::string{name}});
    return found == all->second.end() ? nullptr : found->second;
}

void store::put(const kind& of, record state) {
    state.version = next_version();
    const object_key key{state.ns, state.name};
    record_ptr& slot = objects_[&of][key];
    record_ptr before = std::move(slot);
    if (before) unlink(of, *before);
    slot = std::make_shared<const record>(std::move(state));
    link(of, *slot);
    note({.of = &of, .before = std::move(before), .after = slot});
}

void store::erase(const kind& of, std::string_view ns, std::string_view name, record last) {
    auto& all = objects_[&of];
    const auto found = all.find({std::string{ns}, std::string{name}});
    if (found == all.end()) return;
    record_ptr before = std::move(found->second);
    all.erase(found);
    unlink(of, *before);
    last.version = next_version();
    note({.of = &of,
          .before = std::move(before),
          .after = nullptr,
          .last = std::make_shared<const record>(std::move(last))});
}

void store::link(const kind& of, const record& state) {
    const object_id id{&of, {state.ns, state.name}};
    uids_[state.uid] = id;
    for (const auto& [owner, blocks] : state.owners) ++dependents_[owner][id];
}

void store::unlink(const kind& of, const record& state) {
    const object_id id{&of, {state.ns, state.name}};
    uids_.erase(state.uid);
    for (const auto& [owner, blocks] : state.owners) {
        const auto found = dependents_.find(owner);
        if (found == dependents_.end()) continue;
        if (--found->second[id] == 0) found->second.erase(id);
        if (found->second.empty()) dependents_.erase(found);
    }
}

void store::note(change what) {
    what.version = ++version_;
    history_bytes_ += bytes_of(what);
    history_.push_back(std::move(what));
    while (history_.size() > history_changes_max || history_bytes_ > history_bytes_max)
        compact(history_.front().version);
}

void store::compact(std::uint64_t version) {
    compacted_ = std::max(compacted_, std::min(version, version_));
    while (!history_.empty() && history_.front().version <= compacted_) {
        history_bytes_ -= bytes_of(history_.front());
        history_.pop_front();
    }
}

std::size_t store::count(const kind& of) const {
    const auto all = objects_.find(&of);
    return all == objects_.end() ? 0 : all->second.size();
}

std::vector<record_ptr> store::list(const kind& of, const list_wish& wish) const {
    const auto wanted = [&](const object_key& key) {
        return (wish.ns.empty() || key.first == wish.ns) && (!wish.after || key > *wish.after);
    };
    const auto takes = [&](const record_ptr& each) { return !wish.takes || wish.takes(*each); };
    // What changed since: as it was before the first of its changes.
    std::map<object_key, record_ptr> old;
    for (auto each = history_.rbegin(); each != history_.rend() && each->version > wish.version; ++each) {
        if (each->of != &of) continue;
        const record& some = each->after ? *each->after : *each->last;
        if (object_key key{some.ns, some.name}; wanted(key)) old[std::move(key)] = each->before;
    }
    std::vector<record_ptr> out;
    if (const auto all = objects_.find(&of); all != objects_.end()) {
        auto at =
            wish.after ? all->second.upper_bound(*wish.after) : all->second.lower_bound({std::string{wish.ns}, {}});
        for (; at != all->second.end() && out.size() < wish.items_max; ++at) {
            if (!wish.ns.empty() && at->first.first != wish.ns) break;
            if (!old.contains(at->first) && takes(at->second)) out.push_back(at->second);
        }
    }
    if (old.empty()) return out;
    for (const auto& [key, state] : old) {
        if (state && takes(state)) out.push_back(state);
    }
    std::ranges::sort(out, {}, [](const record_ptr& each) { return object_key{each->ns, each->name}; });
    if (out.size() > wish.items_max) out.resize(wish.items_max);
    return out;
}

const change* store::next(std::uint64_t version) const {
    const auto at = std::ranges::upper_bound(history_, version, {}, &change::version);
    return at == history_.end() ? nullptr : &*at;
}

std::vector<object_id> store::dependents(const std::string& uid) const {
    std::vector<object_id> out;
    if (const auto found = dependents_.find(uid); found != dependents_.end()) {
        for (const auto& [id, count] : found->second) out.push_back(id);
    }
    return out;
}

std::optional<object_id> store::find_uid(const std::string& uid) const {
    const auto found = uids_.find(uid);
    return found == uids_.end() ? std::nullopt : std::optional{found->second};
}

bool all_hold(const std::vector<requirement>& wanted, const label_list& labels) {
    return std::ranges::all_of(wanted, [&](const requirement& each) {
        const auto found = std::ranges::find(labels, each.name, &std::pair<std::string, std::string>::first);
        return holds(each, found == labels.end() ? nullptr : &found->second);
    });
}

bool selector::takes(const record& object) const {
    if (!all_hold(labels, object.labels)) return false;
    doc::arena memory;
    doc::ref whole;
    const auto field_holds = [&](const requirement& wanted) {
        if (wanted.name == "metadata.name") return holds(wanted, &object.name);
        if (wanted.name == "metadata.namespace") return holds(wanted, &object.ns);
        if (!whole) whole = open(memory, object);
        const doc::ref value = at_path(whole, wanted.name);
        const std::string text =
            value.is_bool() ? (value.as_bool(false) ? "true" : "false") : std::string{value.text()};
        return holds(wanted, &text);
    };
    return std::ranges::all_of(fields, field_holds);
}

std::vector<requirement> read_label_selector(doc::ref document) {
    std::vector<requirement> out;
    for (const doc::member& m : document.get("matchLabels").members())
        out.push_back({std::string{m.key()}, relation::among, {std::string{m.value.as_string()}}});
    for (const doc::ref each : document.get("matchExpressions").items()) {
        const std::string_view how = each.get("operator").as_string();
        requirement wanted{std::string{each.get("key").as_string()}, how == "In"       ? relation::among
                                                                     : how == "NotIn"  ? relation::not_among
                                                                     : how == "Exists" ? relation::exists
                                                                                       : relation::absent};
        for (const doc::ref value : each.get("values").items()) wanted.values.emplace_back(value.as_string());
        out.push_back(std::move(wanted));
    }
    return out;
}

std::expected<selector, std::string> read_selector(const kind& of, std::string_view labels, std::string_view fields) {
    selector out;
    for (const std::string_view each : labels.empty() ? std::vector<std::string_view>{} : split(labels)) {
        requirement wanted;
        if (!read_label(each, wanted))
            return std::unexpected(fmt::format("unable to parse requirement: found '{}' in the label selector", each));
        out.labels.push_back(std::move(wanted));
    }
    for (const std::string_view each : fields.empty() ? std::vector<std::string_view>{} : split(fields)) {
        requirement wanted;
        if (!read_equality(each, wanted))
            return std::unexpected(fmt::format("invalid selector: '{}'; can't understand '{}'", fields, each));
        if (of.of_other) wanted.name = of.of_other->field(wanted.name);
        if (!is_selectable(of, wanted.name))
            return std::unexpected(fmt::format("field label not supported: {}", wanted.name));
        out.fields.push_back(std::move(wanted));
    }
    if (out.labels.size() + out.fields.size() > selector_requirements_max)
        return std::unexpected(fmt::format("a selector may have at most {} requirements", selector_requirements_max));
    return out;
}

}  // namespace cotrain::sim
