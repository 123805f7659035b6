// Who gets one of a server's places, and who gives one up. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "net/liveness.hpp"
#include "net/source.hpp"

namespace cotrain::net {

// A connection that has a place.
struct occupant {
    source from;
    // Since when only its peer can go on: it asks for nothing, or sends a request bit by bit. None while we work for
    // it.
    std::optional<time_point> waiting_since;
};

struct crowd_limits {
    std::size_t connections_max;
    std::size_t connections_per_source_max;
};

// What becomes of a connection that has come.
struct entry_verdict {
    bool admitted = false;
    std::optional<std::size_t> leaves;  // the place of who has to go for it
};

// A new connection from `from`. Who waited longest goes: of the same source when that has as many as it may; else of
// the sources that have most, so that nobody loses a connection to a source that opens many.
[[nodiscard]] entry_verdict admit(std::span<const occupant> present, const source& from, crowd_limits limits);

}  // namespace cotrain::net
