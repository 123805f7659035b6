// The CEL rules and regular expressions that schemas may use: a fixed table, each with its meaning in C++.
#pragma once

#include <span>
#include <string_view>

#include "crd/node.hpp"
#include "doc/tree.hpp"

namespace cotrain::crd {

// A CEL expression. `holds` gets the value, its schema and, for a rule about changes, the value before; a rule that
// CEL could not evaluate does not hold.
struct rule {
    std::string_view text;
    bool transition = false;  // about changes: asked only where there is a value before
    bool (*holds)(const node& schema, doc::ref self, doc::ref old_self);
    std::string_view also{};  // another spelling of it that is read, and never written
};

// Amounts of resources, names and reasons of conditions, and numProcPerNode.
inline constexpr std::string_view quantity_pattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|)"
    R"(([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";
inline constexpr std::string_view condition_type_pattern =
    R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?)"
    R"((([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)";
inline constexpr std::string_view condition_reason_pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$";
inline constexpr std::string_view process_count_pattern = "^(auto|cpu|gpu|[1-9][0-9]{0,9})$";

struct text_pattern {
    std::string_view text;
    bool (*matches)(std::string_view value);
};

[[nodiscard]] std::span<const rule> known_rules();
[[nodiscard]] std::span<const text_pattern> known_patterns();
// Null if it is not in the table.
[[nodiscard]] const rule* find_rule(std::string_view text);
[[nodiscard]] const text_pattern* find_pattern(std::string_view text);

// Whether `text` is a time as format date-time wants it.
[[nodiscard]] bool is_date_time(std::string_view text);
// Characters, as limits of lengths count them.
[[nodiscard]] std::size_t count_characters(std::string_view text);

}  // namespace cotrain::crd
