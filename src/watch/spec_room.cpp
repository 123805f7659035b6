// Sums by namespace, and in each the place in its order of size at which the share is used up.
#include "watch/spec_room.hpp"

#include <algorithm>
#include <iterator>
#include <new>
#include <utility>

namespace cotrain::watch {

spec_room::spec_room(const text_table& texts, spec_bounds most, listener to)
    : texts_(texts), most_(most), to_(std::move(to)) {}

std::string_view spec_room::namespace_of(text_id key) const {
    const std::string_view text = texts_.view(key);
    return text.substr(0, text.find('/'));
}

void spec_room::put(text_id key, std::size_t bytes) {
    // All that takes memory comes first.
    share& in = shares_.try_emplace(std::string(namespace_of(key)), texts_).first->second;
    std::set<item, smaller> alone(smaller{&texts_});
    alone.insert({bytes, key});
    const auto [at, is_new] = known_.try_emplace(key);
    if (is_new) {
        ++left_out_;
    } else {
        take(in, {at->second.bytes, key});
    }
    at->second.bytes = bytes;
    add(in, alone.extract(alone.begin()));
    decide(in, key);
}

void spec_room::erase(text_id key) {
    const auto at = known_.find(key);
    if (at == known_.end()) return;
    const auto in = shares_.find(namespace_of(key));
    take(in->second, {at->second.bytes, key});
    known_.erase(at);
    --left_out_;
    decide(in->second, no_text);
    if (in->second.all.empty()) shares_.erase(in);
}

bool spec_room::holds(text_id key) const {
    const auto at = known_.find(key);
    return at != known_.end() && at->second.held;
}

text_id spec_room::next_wanted(text_id after) const {
    if (wanted_.empty()) return no_text;
    const auto next = wanted_.upper_bound(after);
    return next == wanted_.end() ? *wanted_.begin() : *next;
}

std::optional<spec_room::standing> spec_room::about(text_id key) const {
    const auto at = known_.find(key);
    if (at == known_.end()) return std::nullopt;
    return standing{at->second.bytes, shares_.find(namespace_of(key))->second.total, share_bytes()};
}

// Kept at first if it is before the first that is left out.
void spec_room::add(share& to, std::set<item, smaller>::node_type node) {
    const item what = node.value();
    to.all.insert(std::move(node));
    total_changes(to, to.total + what.bytes);
    if (to.rest != to.all.end() && !smaller{&texts_}(what, *to.rest)) return;
    to.kept += what.bytes;
    bytes_ += what.bytes;
    known_.find(what.key)->second.held = true;
    --left_out_;
}

void spec_room::take(share& from, const item& what) {
    const auto at = from.all.find(what);
    const bool is_kept = from.rest == from.all.end() || smaller{&texts_}(what, *from.rest);
    if (at == from.rest) ++from.rest;
    from.all.erase(at);
    total_changes(from, from.total - what.bytes);
    known& it = known_.find(what.key)->second;
    if (is_kept) {
        from.kept -= what.bytes;
        bytes_ -= what.bytes;
        if (wanted_.erase(what.key) == 0) ++left_out_;
    }
    it.held = false;
}

void spec_room::total_changes(share& of, std::size_t total) {
    for (std::size_t i = 0; i < halvings; ++i) {
        const std::size_t most = most_.namespace_bytes >> i;
        used_[i] = used_[i] - std::min(of.total, most) + std::min(total, most);
    }
    of.total = total;
}

void spec_room::decide(share& where, text_id at_hand) {
    const auto fits = std::ranges::find_if(used_, [this](std::size_t bytes) { return bytes <= most_.all_bytes; });
    const auto halved = static_cast<unsigned>(std::min<std::ptrdiff_t>(fits - used_.begin(), halvings - 1));
    const bool all = halved != std::exchange(halved_, halved) || unsettled_;
    unsettled_ = true;
    try {
        // What goes, goes before anything else comes.
        if (all) {
            for (auto& [ns, each] : shares_) settle(each, at_hand);
        } else {
            settle(where, at_hand);
        }
        unsettled_ = false;
        if (std::exchange(more_wanted_, false) && to_.wanted) to_.wanted();
    } catch (const std::bad_alloc&) {  // the next change goes on
    }
}

void spec_room::settle(share& of, text_id at_hand) {
    while (of.kept > share_bytes()) leave_out(of);
    while (of.rest != of.all.end() && of.kept + of.rest->bytes <= share_bytes()) admit(of, at_hand);
}

void spec_room::leave_out(share& of) {
    const auto last = std::prev(of.rest);
    known& it = known_.find(last->key)->second;
    if (it.held && to_.drop) to_.drop(last->key);  // may take memory
    of.rest = last;
    of.kept -= last->bytes;
    bytes_ -= last->bytes;
    if (wanted_.erase(last->key) != 0) return;  // it is left out already
    ++left_out_;
    it.held = false;
}

void spec_room::admit(share& to, text_id at_hand) {
    const item next = *to.rest;
    if (next.key != at_hand) wanted_.insert(next.key);  // takes memory
    ++to.rest;
    to.kept += next.bytes;
    bytes_ += next.bytes;
    if (next.key == at_hand) {
        known_.find(next.key)->second.held = true;
        --left_out_;
    } else {
        more_wanted_ = true;
    }
}

}  // namespace cotrain::watch
