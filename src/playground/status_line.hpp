// The demo's last line, drawn again and again: it must never be wider than the terminal, or each drawing leaves a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cotrain::playground {

struct job_progress {
    std::string name;
    std::int64_t pods = 0;
    std::int64_t ready = 0;
    std::string end{};  // "Complete"; empty while it runs
};

// "  torch-two ██████░░░░ 1/2 pods    mpi-pi ░░░░ 0/4 pods", in fewer than `columns` columns: bars get shorter, then
// go, then the end is cut off.
[[nodiscard]] std::string status_line(std::span<const job_progress> jobs, std::size_t columns);

}  // namespace cotrain::playground
