// Short words to write the schema's tables with.
#pragma once

#include "runtime/schema.hpp"

namespace cotrain::runtime::schema {

constexpr field_info plain(std::string_view name, std::string_view preset = {}) {
    return {name, form::plain, nullptr, {}, list_rule::replace, preset};
}
constexpr field_info brief(std::string_view name, std::string_view preset = {}) {
    return {name, form::brief, nullptr, {}, list_rule::replace, preset};
}
constexpr field_info amount(std::string_view name) { return {name, form::amount}; }
constexpr field_info sure_amount(std::string_view name) { return {name, form::sure_amount}; }
constexpr field_info amounts(std::string_view name) { return {name, form::amounts}; }
constexpr field_info map(std::string_view name) { return {name, form::map}; }
constexpr field_info object(std::string_view name, const type_info& of) { return {name, form::object, &of}; }
constexpr field_info opaque(std::string_view name) { return {name, form::object}; }
constexpr field_info list(std::string_view name) { return {name, form::list}; }
constexpr field_info list(std::string_view name, const type_info& of) { return {name, form::list, &of}; }
constexpr field_info keyed(std::string_view name, const type_info& of, std::string_view merge_key) {
    return {name, form::list, &of, merge_key, list_rule::by_key};
}
constexpr field_info united(std::string_view name) { return {name, form::list, nullptr, {}, list_rule::values}; }

}  // namespace cotrain::runtime::schema
