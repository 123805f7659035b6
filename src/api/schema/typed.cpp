// Walks a document beside its schema and looks at types only.
#include "api/schema/typed.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <limits>

#include "api/json.hpp"
#include "api/schema/place.hpp"
#include "api/schema/rules.hpp"
#include "base/error.hpp"

namespace cotrain::api::schema {
namespace {

std::string shown(ref value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "a list";
    return base::one_line(to_json(value), shown_value_bytes_max);
}

bool is_of_type(const node& schema, ref value) {
    switch (schema.type) {
        case value_type::any: return true;
        case value_type::object: return value.is_object();
        case value_type::array: return value.is_array();
        case value_type::string: return value.is_string();
        case value_type::boolean: return value.is_bool();
        case value_type::number: return value.is_number();
        case value_type::integer: return value.as_int().has_value();
        case value_type::int_or_string: return value.is_string() || value.is_number();
    }
    return false;
}

class reader {
   public:
    void read(const node& schema, ref value, const place& at) {
        if (value.is_unset() || found.size() >= violations_max) return;
        if (!is_of_type(schema, value)) {
            report(at, value, fmt::format("must be of type {}", to_string(schema.type)));
            return;
        }
        if (value.is_object()) return read_members(schema, value, at);
        if (value.is_array()) {
            for (std::size_t i = 0; schema.items && i < value.size(); ++i) {
                read(*schema.items, value.at(i), at.item(i));
            }
            return;
        }
        read_scalar(schema, value, at);
    }

    std::vector<violation> found;

   private:
    void report(const place& at, ref value, std::string_view what) {
        found.push_back({at.path(), fault::type, fmt::format("{}: {}", shown(value), what)});
    }

    void read_members(const node& schema, ref value, const place& at) {
        for (const member& m : value.members()) {
            const property* const known = schema.find(m.key());
            const node* const below = known != nullptr ? known->value.get() : schema.values.get();
            if (below != nullptr) read(*below, m.value, at.member(m.key()));
        }
    }

    void read_scalar(const node& schema, ref value, const place& at) {
        if (schema.format == value_format::int32) {
            const std::int64_t number = value.as_int(0);
            if (number < std::numeric_limits<std::int32_t>::min() || number > std::numeric_limits<std::int32_t>::max())
                report(at, value, "must fit into 32 bits");
        } else if (schema.format == value_format::date_time && !is_date_time(value.text())) {
            report(at, value, "must be a time like 2006-01-02T15:04:05Z");
        } else if (schema.pattern != nullptr && schema.pattern->text == quantity_pattern &&
                   !schema.pattern->matches(value.text())) {
            report(at, value, "must be a quantity, such as 1, 500m or 1.5Gi");
        }
    }
};

}  // namespace

std::vector<violation> check_typed(const node& schema, ref document) {
    reader walk;
    walk.read(schema, document, place{});
    return std::move(walk.found);
}

}  // namespace cotrain::api::schema
