// Strategic merge patch, by the schema's lists.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "sim/patch.hpp"
#include "sim/typed_view.hpp"

namespace cotrain::sim {
namespace {

using api::schema::list_type;
using api::schema::node;

constexpr std::string_view order_prefix = "$setElementOrder/";
constexpr std::string_view delete_prefix = "$deleteFromPrimitiveList/";

bool contains(api::ref list, api::ref value) {
    return std::ranges::any_of(list.items(), [&](api::ref each) { return equal(each, value); });
}

class strategic {
   public:
    explicit strategic(api::arena& memory) : memory_(memory) {}

    patched merge(const node* schema, api::ref document, api::ref patch) {
        if (!patch.is_object()) return patch;
        const std::string_view directive = patch.get("$patch").as_string();
        if (directive == "delete") return api::ref{};
        if (directive == "replace") return without_directives(patch);
        if (!directive.empty() && directive != "merge") return fault(fmt::format("Unknown patch type: {}", directive));
        api::editor out = document.is_object() ? api::editor::of(memory_, document) : api::editor::object(memory_);
        if (const api::ref kept = patch.get("$retainKeys")) retain(out, kept);
        for (const api::member& m : patch.members()) {
            if (auto done = merge_member(schema, out, m); !done) return std::unexpected(std::move(done.error()));
        }
        return out.view();
    }

   private:
    static std::unexpected<patch_fault> fault(std::string message) {
        return std::unexpected(patch_fault{true, std::move(message)});
    }

    api::ref without_directives(api::ref patch) {
        api::editor out = api::editor::object(memory_);
        for (const api::member& m : patch.members()) {
            if (!m.key().starts_with('$')) out.set(m.key(), m.value);
        }
        return out;
    }

    static void retain(api::editor& out, api::ref names) {
        std::vector<std::string> dropped;
        for (const api::member& m : out.view().members()) {
            if (!contains(names, m.name)) dropped.emplace_back(m.key());
        }
        for (const std::string& name : dropped) out.remove(name);
    }

    std::expected<void, patch_fault> merge_member(const node* schema, api::editor& out, const api::member& m) {
        const std::string_view name = m.key();
        if (name.starts_with(delete_prefix)) {
            drop_values(out, name.substr(delete_prefix.size()), m.value);
        } else if (name == "$patch" || name == "$retainKeys" || name.starts_with(order_prefix)) {
            return {};
        } else if (m.value.is_null()) {
            out.remove(name);
        } else {
            const node* const inside = member_of(schema, name).schema;
            auto merged =
                m.value.is_array() ? merge_list(inside, out.get(name), m.value) : merge(inside, out.get(name), m.value);
            if (!merged) return std::unexpected(std::move(merged.error()));
            if (*merged) {
                out.set(name, *merged);
            } else {
                out.remove(name);
            }
        }
        return {};
    }

    void drop_values(api::editor& out, std::string_view name, api::ref values) {
        api::editor kept = api::editor::array(memory_);
        for (const api::ref each : out.get(name).items()) {
            if (!contains(values, each)) kept.append(each);
        }
        if (out.contains(name)) out.set(name, kept);
    }

    patched merge_list(const node* schema, api::ref document, api::ref patch) {
        if (schema == nullptr || is_atomic(schema, nature::list)) return patch;
        api::editor out = document.is_array() ? api::editor::of(memory_, document) : api::editor::array(memory_);
        if (schema->list == list_type::set) {
            for (const api::ref each : patch.items()) {
                if (!contains(out, each)) out.append(each);
            }
            return out.view();
        }
        for (const api::ref each : patch.items()) {
            if (each.get("$patch").as_string() == "replace") return without_replace(patch);
        }
        // A patch names items by the first key.
        const std::string& key = schema->keys.front();
        for (const api::ref each : patch.items()) {
            const api::ref name = each.get(key);
            if (!name)
                return fault(fmt::format("map: {} does not contain declared merge key: {}", api::to_json(each), key));
            std::size_t place = 0;
            while (place < out.size() && !equal(out.at(place).get(key), name)) ++place;
            auto merged = merge(schema->items.get(), out.at(place), each);
            if (!merged) return merged;
            if (!*merged) {
                if (place < out.size()) out.remove(place);
            } else if (place < out.size()) {
                out.replace(place, *merged);
            } else {
                out.append(*merged);
            }
        }
        return out.view();
    }

    api::ref without_replace(api::ref patch) {
        api::editor out = api::editor::array(memory_);
        for (const api::ref each : patch.items()) {
            if (each.get("$patch").as_string() != "replace") out.append(each);
        }
        return out;
    }

    api::arena& memory_;
};

}  // namespace

patched strategic_patch(api::arena& memory, const api::schema::node* schema, api::ref document, api::ref patch) {
    return strategic(memory).merge(schema, document, patch);
}

}  // namespace cotrain::sim
