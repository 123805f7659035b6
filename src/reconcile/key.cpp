// Interning of keys in a chained hash table.
#include "reconcile/key.hpp"

#include <cassert>
#include <utility>

namespace cotrain::reconcile {

key_table::~key_table() {
    if (holder_ == nullptr) return;
    for (const entry& e : entries_)
        if (e.used) holder_->release(e.name);
}

std::uint32_t key_table::bucket(key k) const {
    std::uint64_t h = (std::uint64_t{k.kind} << 32U | k.name) * 0x9e3779b97f4a7c15ULL;
    h ^= h >> 32U;
    return static_cast<std::uint32_t>(h) & static_cast<std::uint32_t>(buckets_.size() - 1);
}

slot key_table::find(key k) const {
    if (buckets_.empty()) return no_slot;
    slot s = buckets_[bucket(k)];
    while (s != no_slot && entries_[s].name != k) s = entries_[s].next;
    return s;
}

void key_table::grow() {
    std::vector<slot> larger(buckets_.empty() ? 64 : buckets_.size() * 2, no_slot);
    buckets_.swap(larger);
    for (slot s = 0; s < entries_.size(); ++s) {
        if (!entries_[s].used) continue;
        slot& head = buckets_[bucket(entries_[s].name)];
        entries_[s].next = std::exchange(head, s);
    }
}

slot key_table::intern(key k) {
    if (const slot known = find(k); known != no_slot) return known;
    if (size_ == buckets_.size()) grow();
    slot s = free_;
    if (s == no_slot) {
        s = static_cast<slot>(entries_.size());
        entries_.emplace_back();
    } else {
        free_ = entries_[s].next;
    }
    slot& head = buckets_[bucket(k)];
    entries_[s] = {k, std::exchange(head, s), true};
    ++size_;
    if (holder_ != nullptr) holder_->retain(k);
    return s;
}

void key_table::release(slot s) {
    assert(entries_[s].used);
    const key k = entries_[s].name;
    slot* link = &buckets_[bucket(k)];
    while (*link != s) link = &entries_[*link].next;
    *link = entries_[s].next;
    entries_[s] = {{}, std::exchange(free_, s), false};
    --size_;
    if (holder_ != nullptr) holder_->release(k);
}

bool key_table::trim() {
    if (size_ != 0) return false;
    entries_ = {};
    buckets_ = {};
    free_ = no_slot;
    return true;
}

}  // namespace cotrain::reconcile
