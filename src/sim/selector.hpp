// Label and field selectors.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/tree.hpp"
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
    std::vector<requirement> fields;  // with one value each

    [[nodiscard]] bool empty() const { return labels.empty() && fields.empty(); }
    [[nodiscard]] bool takes(const record& object) const;
};

// "a=b,c!=d,e in (f,g),h notin (i),j,!k"; "metadata.name=x". Errors are the API server's.
// Fields are metadata.name, metadata.namespace and those that the kind names.
[[nodiscard]] std::expected<selector, std::string> read_selector(const kind& of, std::string_view labels,
                                                                 std::string_view fields);
// A LabelSelector as objects have it. Nothing selects everything.
[[nodiscard]] std::vector<requirement> read_label_selector(api::ref document);
using label_list = std::vector<std::pair<std::string, std::string>>;
[[nodiscard]] bool all_hold(const std::vector<requirement>& wanted, const label_list& labels);

}  // namespace cotrain::sim
