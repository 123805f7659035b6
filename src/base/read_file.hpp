// Reading of small files (kubeconfigs, tokens, certificates) in one go, bounded in size and time.
#pragma once

#include <chrono>
#include <string>

#include "base/error.hpp"

namespace cotrain::base {

// How long a pipe (KUBECONFIG=<(…)) may keep us waiting for its next bytes.
inline constexpr std::chrono::milliseconds pipe_wait_max{5'000};

// errc::invalid with one line: "cannot read /x: No such file or directory". `missing`, if given, tells whether the
// file is just not there.
[[nodiscard]] result<std::string> read_file(const std::string& path, std::size_t bytes_max, bool* missing = nullptr);

}  // namespace cotrain::base
