// The operator's process: descriptors, memory that it may use, core dumps, memory given back to the system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace cotrain::app {

// What the process may open, and which server gets how much of it.

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

// How much memory this process may use.

// The smallest memory limit from the process's own cgroup up to the root, of cgroup v2 or v1; `physical_bytes` where
// that is less or no limit is set. `root` is where proc and sys are found, "" but in tests.
[[nodiscard]] std::uint64_t memory_limit(const std::string& root, std::uint64_t physical_bytes);

// The same of this process on this machine.
[[nodiscard]] std::uint64_t memory_limit();

// Keys and tokens in memory stay in memory.

// From here on this process leaves no core file, and nobody without CAP_SYS_PTRACE attaches to it or reads its memory,
// other processes of its user included. Programs that it starts are not bound by the second.
void keep_memory_private();

// Memory that the start needed and nothing needs any more.

// Free heap goes back to the system, and pages of the program's code and constants leave this process; those in use
// come back from the page cache one by one. Returns the bytes of code and constants let go of.
std::size_t give_back_memory();

}  // namespace cotrain::app
