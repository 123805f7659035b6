// Names and lookups of schemas.
#include "api/schema/node.hpp"

#include <array>

namespace cotrain::api::schema {

std::string_view to_string(value_type type) {
    static constexpr std::array<std::string_view, 8> names{"",        "object", "array",   "string",
                                                           "integer", "number", "boolean", "integer or string"};
    return names[static_cast<std::size_t>(type)];
}

std::string_view to_string(value_format format) {
    static constexpr std::array<std::string_view, 5> names{"", "int32", "int64", "double", "date-time"};
    return names[static_cast<std::size_t>(format)];
}

std::string_view to_string(list_type type) {
    static constexpr std::array<std::string_view, 4> names{"", "atomic", "set", "map"};
    return names[static_cast<std::size_t>(type)];
}

const property* node::find(std::string_view name) const {
    for (const property& p : properties) {
        if (p.name == name) return &p;
    }
    return nullptr;
}

}  // namespace cotrain::api::schema
