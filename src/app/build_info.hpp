// What this program was built from and with.
#pragma once

#include <span>
#include <string_view>

namespace cotrain::app {

struct built_with {
    std::string_view name;
    std::string_view version;
};

// The release, as its tag says; of a build from a checkout the version of the sources.
[[nodiscard]] std::string_view version();
// The commit; empty where the build was not told.
[[nodiscard]] std::string_view commit();
[[nodiscard]] std::string_view compiler();
// The libraries that are linked, as they call themselves.
[[nodiscard]] std::span<const built_with> libraries();

}  // namespace cotrain::app
