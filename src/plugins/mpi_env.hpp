// What the launchers of MPI implementations read: environment and hostfile.
#pragma once

#include <cstdint>
#include <string>

#include "api/runtime.hpp"
#include "runtime/container.hpp"

namespace cotrain::plugins {

// Where the hostfile is, how many processes a host takes, patience of ssh, full host names.
void put_launcher_env(runtime::container& launcher, api::mpi_implementation implementation, std::int64_t slots);

// What follows a host's name on its line, newline included.
[[nodiscard]] std::string hostfile_suffix(api::mpi_implementation implementation, std::int64_t slots);

}  // namespace cotrain::plugins
