// Counting the connections of each source.
#include "net/crowd.hpp"

#include <algorithm>
#include <map>

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

}  // namespace

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

}  // namespace cotrain::net
