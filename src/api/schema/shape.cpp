// Prunes documents and fills in defaults, copying only what changes.
#include <algorithm>
#include <utility>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "api/schema/check.hpp"
#include "api/schema/place.hpp"

namespace cotrain::api::schema {
namespace {

class shaper {
   public:
    shaper(arena& memory, std::vector<std::string>& unknown) : memory_(memory), unknown_(unknown) {}

    ref shape(const node* schema, ref value, const place& at) {
        if (value.is_object()) return shape_object(schema, value, at);
        if (value.is_array()) return shape_array(schema, value, at);
        return value;
    }

   private:
    // The document that results from edits, made when the first one comes.
    class result {
       public:
        result(arena& memory, ref original) : memory_(memory), original_(original) {}
        editor& open() {
            if (!copy_) copy_ = editor::of(memory_, original_);
            return copy_;
        }
        [[nodiscard]] ref get() const { return copy_ ? copy_.view() : original_; }

       private:
        arena& memory_;
        ref original_;
        editor copy_{};
    };

    // A default for `schema`, or absent.
    ref fallback(const node& schema) {
        if (schema.fallback.empty()) return {};
        return parse_json_copy(memory_, schema.fallback).value_or(ref{});  // was read once already
    }

    static bool is_of_every_object(std::string_view name) {
        return name == "apiVersion" || name == "kind" || name == "metadata";
    }

    static bool is_plain_null(const node* schema, ref value) {
        return value.is_null() && schema != nullptr && !schema->nullable;
    }

    ref shape_object(const node* schema, ref value, const place& at) {
        result out(memory_, value);
        for (const member& m : value.members()) {
            if (at.is_root() && is_of_every_object(m.key())) continue;
            const property* const known = schema != nullptr ? schema->find(m.key()) : nullptr;
            const node* const below = known != nullptr    ? known->value.get()
                                      : schema != nullptr ? schema->values.get()
                                                          : nullptr;
            if (below == nullptr) {
                drop_unknown(schema, m.key(), out, at);
            } else if (is_plain_null(below, m.value)) {
                replace_null(*below, m.key(), out);
            } else if (const ref now = shape(below, m.value, at.member(m.key())); !now.same(m.value)) {
                out.open().set(m.key(), now);
            }
        }
        if (schema == nullptr) return out.get();
        for (const property& p : schema->properties) {
            if (p.value->fallback.empty() || value.contains(p.name)) continue;
            out.open().set(p.name, shape(p.value.get(), fallback(*p.value), at));
        }
        return out.get();
    }

    ref shape_array(const node* schema, ref value, const place& at) {
        const node* const items = schema != nullptr ? schema->items.get() : nullptr;
        result out(memory_, value);
        for (std::size_t i = 0; i < value.size(); ++i) {
            ref now = value.at(i);
            if (items != nullptr && is_plain_null(items, now) && !items->fallback.empty()) now = fallback(*items);
            now = shape(items, now, at.item(i));
            if (!now.same(value.at(i))) out.open().replace(i, now);
        }
        return out.get();
    }

    void replace_null(const node& schema, std::string_view name, result& out) {
        if (schema.fallback.empty()) {
            out.open().remove(name);
        } else {
            out.open().set(name, fallback(schema));
        }
    }

    void drop_unknown(const node* schema, std::string_view name, result& out, const place& at) {
        if (schema != nullptr && schema->keeps_unknown) return;
        if (unknown_.size() < unknown_fields_max) unknown_.push_back(at.member(name).path());
        out.open().remove(name);
    }

    arena& memory_;
    std::vector<std::string>& unknown_;
};

}  // namespace

shaped shape(arena& memory, const node& schema, ref document) {
    shaped out;
    out.document = shaper(memory, out.unknown_fields).shape(&schema, document, place{});
    return out;
}

}  // namespace cotrain::api::schema
