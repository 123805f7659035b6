// Whether a value fits its schema well enough to be merged.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "api/json.hpp"
#include "sim/typed_view.hpp"

namespace cotrain::sim {
namespace {

using api::schema::value_type;
using verdict = std::expected<void, std::string>;

verdict below(const path_element& element, verdict found) {
    if (found) return found;
    return std::unexpected(to_string(element) + found.error());
}

verdict fault(std::string text) { return std::unexpected(": " + std::move(text)); }

verdict check_scalar(const schema_node* schema, api::ref value) {
    if (schema == nullptr || value.is_null()) return {};
    switch (schema->type) {
        case value_type::string:
            if (!value.is_string()) return fault("expected string, got " + api::to_json(value));
            return {};
        case value_type::boolean:
            if (!value.is_bool()) return fault("expected boolean, got " + api::to_json(value));
            return {};
        case value_type::integer:
        case value_type::number:
            if (!value.is_number()) return fault("expected numeric (int or float), got " + api::to_json(value));
            return {};
        default:
            if (value.is_container()) return fault("expected any scalar, got " + api::to_json(value));
            return {};
    }
}

verdict check(const schema_node* schema, api::ref value, duplicates items);

verdict check_list(const schema_node* schema, api::ref value, duplicates items) {
    if (!value.is_null() && !value.is_array()) return fault("expected list, got " + api::to_json(value));
    const bool granular = !is_atomic(schema, nature::list);
    std::set<path_element> seen;
    for (std::size_t i = 0; i < value.size(); ++i) {
        path_element element{step::index, fmt::format("{}", i)};
        if (granular) {
            auto key = item_element(schema, value.at(i));
            if (!key) return fault(fmt::format("element {}: {}", i, key.error()));
            element = std::move(*key);
            if (!seen.insert(element).second && items == duplicates::refused)
                return fault("duplicate entries for key " + to_string(element));
        }
        if (auto each = below(element, check(items_of(schema), value.at(i), items)); !each) return each;
    }
    return {};
}

verdict check_map(const schema_node* schema, api::ref value, duplicates items) {
    if (!value.is_null() && !value.is_object()) return fault("expected map, got " + api::to_json(value));
    const bool closed = schema != nullptr && schema->type == value_type::object && !schema->properties.empty() &&
                        schema->values == nullptr && !schema->keeps_unknown;
    for (const api::member& m : value.members()) {
        const member_type type = member_of(schema, m.key());
        verdict each =
            closed && !type.declared ? fault("field not declared in schema") : check(type.schema, m.value, items);
        if (!each) return below(path_element::field(m.key()), std::move(each));
    }
    return {};
}

verdict check(const schema_node* schema, api::ref value, duplicates items) {
    switch (nature_of(schema, value)) {
        case nature::scalar: return check_scalar(schema, value);
        case nature::list: return check_list(schema, value, items);
        case nature::map: return check_map(schema, value, items);
    }
    return {};
}

}  // namespace

std::expected<void, std::string> check_mergeable(const schema_node* schema, api::ref value, duplicates items) {
    return check(schema, value, items);
}

}  // namespace cotrain::sim
