// Prunes documents and fills in defaults, copying only what changes.
#include <algorithm>
#include <utility>

#include "crd/check.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::crd {
namespace {

class shaper {
   public:
    shaper(doc::arena& memory, std::vector<std::string>& unknown) : memory_(memory), unknown_(unknown) {}

    doc::ref shape(const node* schema, doc::ref value, const place& at) {
        if (value.is_object()) return shape_object(schema, value, at);
        if (value.is_array()) return shape_array(schema, value, at);
        return value;
    }

   private:
    // The document that results from edits, made when the first one comes.
    class result {
       public:
        result(doc::arena& memory, doc::ref original) : memory_(memory), original_(original) {}
        doc::editor& open() {
            if (!copy_) copy_ = doc::editor::of(memory_, original_);
            return copy_;
        }
        [[nodiscard]] doc::ref get() const { return copy_ ? copy_.view() : original_; }

       private:
        doc::arena& memory_;
        doc::ref original_;
        doc::editor copy_{};
    };

    // A default for `schema`, or absent.
    doc::ref fallback(const node& schema) {
        if (schema.fallback.empty()) return {};
        return doc::parse_json_copy(memory_, schema.fallback).value_or(doc::ref{});  // was read once already
    }

    static bool is_of_every_object(std::string_view name) {
        return name == "apiVersion" || name == "kind" || name == "metadata";
    }

    static bool is_plain_null(const node* schema, doc::ref value) {
        return value.is_null() && schema != nullptr && !schema->nullable;
    }

    doc::ref shape_object(const node* schema, doc::ref value, const place& at) {
        result out(memory_, value);
        for (const doc::member& m : value.members()) {
            if (at.is_root() && is_of_every_object(m.key())) continue;
            const property* const known = schema != nullptr ? schema->find(m.key()) : nullptr;
            const node* const below = known != nullptr    ? known->value.get()
                                      : schema != nullptr ? schema->values.get()
                                                          : nullptr;
            if (below == nullptr) {
                drop_unknown(schema, m.key(), out, at);
            } else if (is_plain_null(below, m.value)) {
                replace_null(*below, m.key(), out);
            } else if (const doc::ref now = shape(below, m.value, at.member(m.key())); !now.same(m.value)) {
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

    doc::ref shape_array(const node* schema, doc::ref value, const place& at) {
        const node* const items = schema != nullptr ? schema->items.get() : nullptr;
        result out(memory_, value);
        for (std::size_t i = 0; i < value.size(); ++i) {
            doc::ref now = value.at(i);
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

    doc::arena& memory_;
    std::vector<std::string>& unknown_;
};

}  // namespace

shaped shape(doc::arena& memory, const node& schema, doc::ref document) {
    shaped out;
    out.document = shaper(memory, out.unknown_fields).shape(&schema, document, place{});
    return out;
}

}  // namespace cotrain::crd
