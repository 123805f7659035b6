// Reads merging rules out of schemas.
#include "sim/typed_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/json.hpp"

namespace cotrain::sim {
namespace {

using api::schema::list_type;
using api::schema::value_type;

bool is_open(const schema_node* schema) { return schema == nullptr || schema->type == value_type::any; }

}  // namespace

nature nature_of(const schema_node* schema, api::ref value) {
    if (is_open(schema)) {
        if (value.is_array()) return nature::list;
        return value.is_object() || value.is_unset() ? nature::map : nature::scalar;
    }
    if (schema->type == value_type::object) return nature::map;
    return schema->type == value_type::array ? nature::list : nature::scalar;
}

bool is_atomic(const schema_node* schema, nature what) {
    if (what == nature::scalar) return true;
    if (what == nature::map) return schema != nullptr && schema->atomic_map;
    return is_open(schema) || (schema->list != list_type::map && schema->list != list_type::set);
}

member_type member_of(const schema_node* schema, std::string_view name) {
    if (schema == nullptr) return {};
    if (const auto* known = schema->find(name)) return {true, known->value.get()};
    return {false, schema->values.get()};
}

const schema_node* items_of(const schema_node* schema) { return schema == nullptr ? nullptr : schema->items.get(); }

std::expected<path_element, std::string> item_element(const schema_node* list, api::ref item) {
    if (list->list == list_type::set) {
        if (item.is_object()) return std::unexpected("associative list without keys has an element that's a map type");
        if (item.is_array()) return std::unexpected("not supported: associative list with lists as elements");
        if (item.is_null())
            return std::unexpected("associative list without keys has an element that's an explicit null");
        return path_element{step::value, scalar_text(item)};
    }
    if (item.is_null()) return std::unexpected("associative list with keys may not have a null element");
    if (!item.is_object()) return std::unexpected("associative list with keys may not have non-map elements");
    std::vector<std::pair<std::string, std::string>> keys;
    for (const std::string& name : list->keys) {
        if (const api::ref key = item.get(name)) {
            keys.emplace_back(name, scalar_text(key));
        } else if (const auto* known = list->items ? list->items->find(name) : nullptr;
                   known != nullptr && !known->value->fallback.empty()) {
            keys.emplace_back(name, known->value->fallback);
        }
    }
    if (keys.empty()) {
        return std::unexpected(fmt::format(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default "
            "values for any key fields)",
            fmt::join(list->keys, " ")));
    }
    std::ranges::sort(keys);
    std::string text = "{";
    for (const auto& [name, value] : keys) {
        if (text.size() > 1) text += ',';
        text += api::to_json(api::ref::make_string(name)) + ':' + value;
    }
    return path_element{step::key, text + '}'};
}

item_index::item_index(const schema_node* list, api::ref of) {
    for (const api::ref item : of.items()) {
        auto element = item_element(list, item);
        if (!element) continue;  // refused before, or stored by an older schema: belongs to nobody
        by_element[*element].push_back(item);
        items.push_back(item);
        order.push_back(std::move(*element));
    }
}

const std::vector<api::ref>* item_index::find(const path_element& element) const {
    const auto found = by_element.find(element);
    return found == by_element.end() ? nullptr : &found->second;
}

}  // namespace cotrain::sim
