// RLIMIT_NOFILE, and its division.
#include "app/process_limits.hpp"

#include <sys/resource.h>

#include <algorithm>

namespace cotrain::app {

namespace {

// More descriptors than these give no server more connections: the memory of idle ones counts, too.
constexpr std::size_t shared_max = 1024;
// Where nobody says how many there are.
constexpr std::size_t usual_descriptors = 1024;

}  // namespace

void raise_descriptor_limit() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

std::size_t descriptors_max() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return usual_descriptors;
    return static_cast<std::size_t>(files.rlim_cur);
}

connection_shares share_connections(std::size_t descriptors) {
    const std::size_t sixteenth = std::max<std::size_t>(1, std::min(descriptors, shared_max) / 16);
    return {.reviews = 8 * sixteenth, .reports = 2 * sixteenth, .metrics = sixteenth, .health = sixteenth};
}

}  // namespace cotrain::app
