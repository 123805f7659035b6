#include "net/crowd.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

namespace cotrain::net {

namespace {

// Of those that `concerns` picks.
template <class Picked>
std::optional<std::size_t> longest_waiting(std::span<const occupant> present, const Picked& concerns) {
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < present.size(); ++i) {
        if (!present[i].waiting_since || !concerns(present[i].from)) continue;
        if (!found || *present[i].waiting_since < *present[*found].waiting_since) found = i;
    }
    return found;
}

constexpr std::size_t share_bytes_min = 32U << 20U;
constexpr std::size_t share_bytes_max = 512U << 20U;

}  // namespace

source source_of(const boost::asio::ip::address& address) {
    namespace ip = boost::asio::ip;
    if (address.is_v4()) return {ip::make_address_v6(ip::v4_mapped, address.to_v4()).to_bytes()};
    source out{address.to_v6().to_bytes()};
    if (!address.to_v6().is_v4_mapped())
        std::fill(out.bytes.begin() + 8, out.bytes.end(), static_cast<unsigned char>(0));
    return out;
}

entry_verdict admit(std::span<const occupant> present, const source& from, crowd_limits limits) {
    const auto of_source = static_cast<std::size_t>(std::ranges::count(present, from, &occupant::from));
    if (of_source >= limits.connections_per_source_max) {
        const auto leaves = longest_waiting(present, [&](const source& its) { return its == from; });
        return {.admitted = leaves.has_value(), .leaves = leaves};
    }
    if (present.size() < limits.connections_max) return {.admitted = true};
    struct party {
        std::size_t connections = 0;
        bool waits = false;
    };
    std::map<source, party> parties;
    for (const occupant& each : present) {
        party& its = parties[each.from];
        ++its.connections;
        its.waits = its.waits || each.waiting_since;
    }
    std::size_t most = 0;
    for (const auto& [its, of] : parties)
        if (of.waits) most = std::max(most, of.connections);
    const auto leaves =
        longest_waiting(present, [&](const source& its) { return parties.at(its).connections == most; });
    return {.admitted = leaves.has_value(), .leaves = leaves};
}

memory_account::claim::claim(memory_account& of, const source& from, holder& who)
    : account_(of), from_(from), holder_(who), place_(of.claims_.size()), born_(++of.born_) {
    of.claims_.push_back(this);
}

memory_account::claim::~claim() {
    lower(0);
    auto& all = account_.claims_;
    all[place_] = all.back();
    all[place_]->place_ = place_;
    all.pop_back();
    if (doomed_) std::ranges::replace(account_.doomed_, this, nullptr);
}

void memory_account::claim::lower(std::size_t bytes) {
    assert(bytes <= bytes_);
    account_.held_ -= bytes_ - bytes;
    bytes_ = bytes;
}

bool memory_account::claim::raise(std::size_t bytes, bool for_work) {
    if (bytes <= bytes_) return true;
    const std::size_t most = account_.most_for(bytes);
    if (bytes > most || account_.held_ - bytes_ > most - bytes) {
        if (!account_.make_room(*this, bytes, for_work)) {
            ++account_.endings_;
            return false;
        }
    }
    account_.held_ += bytes - bytes_;
    bytes_ = bytes;
    return true;
}

bool memory_account::claim::raise_for_work(std::size_t bytes) {
    const bool pinned_before = std::exchange(pinned_, true);
    if (raise(bytes, true)) return true;
    pinned_ = pinned_before;
    return false;
}

std::size_t memory_account::share_of(std::uint64_t process_bytes) {
    return static_cast<std::size_t>(std::clamp<std::uint64_t>(process_bytes / 4, share_bytes_min, share_bytes_max));
}

bool memory_account::make_room(const claim& asking, std::size_t wanted, bool for_work) {
    const std::size_t most = most_for(wanted);
    if (wanted > most) return false;
    assert(doomed_.empty());
    doomed_ = choose({.by = &asking,
                      .wanted = wanted,
                      .missing = held_ - asking.bytes_ - (most - wanted),
                      .may_go = !for_work && wanted > small_bytes});
    for (claim* const each : doomed_) each->doomed_ = true;
    // One that ends may take others with it: those are null then.
    for (std::size_t i = 0; i < doomed_.size(); ++i) {
        claim* const each = std::exchange(doomed_[i], nullptr);
        if (each == nullptr) continue;
        each->doomed_ = false;
        ++endings_;
        each->holder_.end_for_memory();
    }
    doomed_.clear();
    return held_ - asking.bytes_ <= most - wanted;
}

std::vector<memory_account::claim*> memory_account::choose(const demand& what) const {
    struct party {
        std::size_t held = 0;
        std::vector<claim*> open;  // who goes first is the last
    };
    std::map<source, party> parties;
    for (claim* const each : claims_) {
        party& its = parties[each->from_];
        its.held += each == what.by ? what.wanted : each->bytes_;
        if (each != what.by && !each->pinned_ && each->bytes_ != 0) its.open.push_back(each);
    }
    for (auto& [from, its] : parties)
        std::ranges::sort(its.open, [](const claim* a, const claim* b) {
            return a->bytes_ != b->bytes_ ? a->bytes_ < b->bytes_ : a->born_ > b->born_;
        });
    const auto weight = [&](const auto& entry) {
        const bool can_give = !entry.second.open.empty() || (what.may_go && entry.first == what.by->from_);
        return can_give ? entry.second.held : 0;
    };
    // A little more than is needed, or many small ones would each cost a look at all the others.
    const std::size_t enough = what.missing + bytes_max_ / 16;
    std::vector<claim*> out;
    for (std::size_t freed = 0; freed < enough;) {
        const auto most = std::ranges::max_element(parties, {}, weight);
        if (most == parties.end() || weight(*most) == 0) break;
        auto& open = most->second.open;
        const bool its_own = what.may_go && most->first == what.by->from_;
        if (its_own && (open.empty() || what.wanted > open.back()->bytes_)) {
            if (freed < what.missing) return {};
            break;
        }
        freed += open.back()->bytes_;
        most->second.held -= open.back()->bytes_;
        out.push_back(open.back());
        open.pop_back();
    }
    return out;
}

}  // namespace cotrain::net
