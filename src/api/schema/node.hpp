// A schema in memory, in the form that CustomResourceDefinitions write it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cotrain::api::schema {

struct rule;
struct text_pattern;
struct node;
using shared_node = std::shared_ptr<const node>;

enum class value_type : std::uint8_t { any, object, array, string, integer, number, boolean, int_or_string };
[[nodiscard]] std::string_view to_string(value_type type);

enum class value_format : std::uint8_t { none, int32, int64, floating, date_time };
[[nodiscard]] std::string_view to_string(value_format format);

// How the items of a list are told apart: not at all, as values, or by the members named in node::keys.
enum class list_type : std::uint8_t { unspecified, atomic, set, map };
[[nodiscard]] std::string_view to_string(list_type type);

// Both ends count; absent = no limit.
struct limits {
    std::optional<std::int64_t> min;
    std::optional<std::int64_t> max;
};

struct property {
    std::string name;
    shared_node value;
    bool required = false;
};

struct validation {
    const rule* check = nullptr;
    std::string message;
};

// Plain data; the parts below are shared between all places that use a type.
struct node {
    value_type type = value_type::any;
    value_format format = value_format::none;
    list_type list = list_type::unspecified;
    bool atomic_map = false;
    bool nullable = false;
    bool keeps_unknown = false;
    limits number;  // of an integer's or number's value
    limits size;    // characters of a string, items of an array, members of an object
    const text_pattern* pattern = nullptr;
    std::vector<std::string> one_of;   // the only texts allowed, if any
    std::vector<std::string> keys;     // with list_type::map
    std::vector<property> properties;  // of an object
    shared_node items;                 // of an array
    shared_node values;                // of an object whose member names are free
    std::vector<validation> validations;
    std::string fallback;  // the default as JSON; empty = none
    std::string description;

    [[nodiscard]] const property* find(std::string_view name) const;
};

}  // namespace cotrain::api::schema
