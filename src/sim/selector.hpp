// Label and field selectors.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "sim/store.hpp"

namespace cotrain::sim {

inline constexpr std::size_t selector_requirements_max = 256;

struct requirement {
    enum class relation : std::uint8_t { exists, absent, among, not_among };
    std::string name;
    relation how = relation::exists;
    std::vector<std::string> values{};
};

// All must hold.
struct selector {
    std::vector<requirement> labels;
    std::vector<requirement> fields;  // metadata.name and metadata.namespace, with one value each

    [[nodiscard]] bool empty() const { return labels.empty() && fields.empty(); }
    [[nodiscard]] bool takes(const record& object) const;
};

// "a=b,c!=d,e in (f,g),h notin (i),j,!k"; "metadata.name=x". Errors are the API server's.
[[nodiscard]] std::expected<selector, std::string> read_selector(std::string_view labels, std::string_view fields);

}  // namespace cotrain::sim
