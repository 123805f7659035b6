// What the process may open, and which server gets how much of it.
#pragma once

#include <cstddef>

namespace cotrain::app {

// File descriptors up to the hard limit, which a program may take without asking. What it could not get it does
// without.
void raise_descriptor_limit();
[[nodiscard]] std::size_t descriptors_max();

// Connections of each server. Together they leave a quarter of all descriptors for ourselves: connections to the API
// server, files, timers.
struct connection_shares {
    std::size_t reviews;
    std::size_t reports;
    std::size_t metrics;
    std::size_t health;
};
[[nodiscard]] connection_shares share_connections(std::size_t descriptors);

}  // namespace cotrain::app
