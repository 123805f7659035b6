// A schema in memory, in the form that CustomResourceDefinitions write it; from their JSON and back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::crd {

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

// Reads an openAPIV3Schema. Whatever check() could not judge is refused: unknown keywords, rules and patterns.
[[nodiscard]] base::result<node> read_schema(doc::ref document);

// Types by name. In a library, {"$ref": "Name"} is the type of that name.
class library {
   public:
    [[nodiscard]] static base::result<library> read(doc::ref definitions);
    // Null if there is none.
    [[nodiscard]] shared_node find(std::string_view name) const;

   private:
    std::map<std::string, shared_node, std::less<>> types_;
};

// The schema with everything that it shares written out in place.
[[nodiscard]] doc::ref write_schema(doc::arena& memory, const node& schema);

// From kubernetes.json.inc, which tools/crdgen/refresh.sh makes of a real API server's OpenAPI. Throws
// std::logic_error if that file is not what the tool makes.
[[nodiscard]] const library& kubernetes_types();

// --- equality as the API server sees it: keyed lists have no order ---------------------------------------------------

// CEL compares sets without order, the comparison that spares unchanged values compares them with it.
enum class set_order : bool { ignored, counts };

// `schema` may be null: then all lists are plain.
[[nodiscard]] bool same(const node* schema, doc::ref a, doc::ref b, set_order order);

// What tells an item of a keyed list from its neighbours; equal texts are the same item.
[[nodiscard]] std::string key_of(const node& list, doc::ref item);
// The items of a list by key, the first of each.
using keyed_items = std::unordered_map<std::string, doc::ref>;
[[nodiscard]] keyed_items index_items(const node& list, doc::ref items);

}  // namespace cotrain::crd
