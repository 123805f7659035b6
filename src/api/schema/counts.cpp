// Walks a document beside its schema, from the top, and counts only.
#include "api/schema/counts.hpp"

#include <fmt/format.h>

#include "api/schema/place.hpp"

namespace cotrain::api::schema {
namespace {

class counter {
   public:
    // Whether nothing was found.
    bool visit(const node& schema, ref value, ref old, const place& at) {
        if (!value.is_container()) return true;
        const auto count = static_cast<std::int64_t>(value.size());
        if (schema.size.max && count > *schema.size.max && !(old && equal(value, old))) {
            found = violation{at.path(), fault::too_many,
                              fmt::format("{}: must have at most {} {}", count, *schema.size.max,
                                          value.is_array() ? "items" : "members")};
            return false;
        }
        return value.is_object() ? members(schema, value, old, at) : items(schema, value, old, at);
    }

    std::optional<violation> found;

   private:
    bool members(const node& schema, ref value, ref old, const place& at) {
        for (const property& p : schema.properties) {
            const ref below = value.get(p.name);
            if (below.is_container() && !visit(*p.value, below, old.get(p.name), at.member(p.name))) return false;
        }
        if (!schema.values) return true;
        for (const member& m : value.members()) {
            if (m.value.is_container() && !visit(*schema.values, m.value, {}, at.member(m.key()))) return false;
        }
        return true;
    }

    bool items(const node& schema, ref value, ref old, const place& at) {
        for (std::size_t i = 0; schema.items && i < value.size(); ++i) {
            if (!visit(*schema.items, value.at(i), old.at(i), at.item(i))) return false;
        }
        return true;
    }
};

}  // namespace

std::optional<violation> find_too_many(const node& schema, std::string_view name, ref document, ref old) {
    counter walk;
    const place root;
    (void)walk.visit(schema, document, old, root.member(name));
    return std::move(walk.found);
}

}  // namespace cotrain::api::schema
