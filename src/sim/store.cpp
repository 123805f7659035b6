// Keeps objects and their history.
#include "sim/store.hpp"

#include <algorithm>

namespace cotrain::sim {
namespace {

std::size_t bytes_of(const change& what) {
    return sizeof(change) + (what.after ? what.after->json.size() : what.last ? what.last->json.size() : 0);
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

}  // namespace cotrain::sim
