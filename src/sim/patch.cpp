#include "sim/patch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "runtime/merge.hpp"
#include "sim/typed.hpp"

namespace cotrain::sim {

namespace {

using steps = std::vector<std::string>;

std::unexpected<patch_fault> misfit(std::string message) {
    return std::unexpected(patch_fault{false, std::move(message)});
}
std::unexpected<patch_fault> malformed(std::string message) {
    return std::unexpected(patch_fault{true, std::move(message)});
}

std::optional<steps> read_pointer(std::string_view text) {
    steps out;
    if (text.empty()) return out;
    if (text.front() != '/') return std::nullopt;
    for (const char c : text) {
        if (c == '/') {
            out.emplace_back();
        } else if (!out.back().empty() && out.back().back() == '~' && (c == '0' || c == '1')) {
            out.back().back() = c == '0' ? '\1' : '/';  // \1 stands for ~ until all is read
        } else {
            out.back() += c;
        }
    }
    for (std::string& each : out) {
        for (char& c : each) {
            if (c == '\1') c = '~';
        }
    }
    return out;
}

std::optional<std::size_t> read_index(std::string_view text) {
    std::size_t out = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size() || text.empty()) return std::nullopt;
    return out;
}

class patcher {
   public:
    patcher(doc::arena& memory, doc::ref document) : memory_(memory), root_(doc::editor::array(memory)) {
        root_.append(document);
    }
    [[nodiscard]] doc::ref document() const { return root_.at(0); }

    std::expected<void, patch_fault> perform(doc::ref operation) {
        const std::string_view what = operation.get("op").as_string();
        const auto where = read_pointer(operation.get("path").as_string());
        if (!operation.get("path").is_string() || !where) return malformed("path: not a JSON pointer");
        const doc::ref value = operation.get("value");
        if (what == "add" || what == "replace" || what == "test") {
            if (!value) return malformed(fmt::format("{} operation without value", what));
            return what == "add"       ? add(*where, value)
                   : what == "replace" ? replace(*where, value)
                                       : test(*where, value);
        }
        if (what == "remove") return remove(*where);
        if (what != "move" && what != "copy") return malformed(fmt::format("Unexpected kind: {}", what));
        const auto from = read_pointer(operation.get("from").as_string());
        if (!from) return malformed("from: not a JSON pointer");
        const doc::ref moved = find(*from);
        if (!moved) return misfit(fmt::format("{} operation does not apply: there is nothing at from", what));
        if (what == "copy") {
            copied_bytes_ += doc::to_json(moved).size();
            if (copied_bytes_ > json_patch_copied_bytes_max) return too_many_copies();
        }
        const doc::ref kept = deep_copy(memory_, moved);
        if (what == "move") {
            if (auto done = remove(*from); !done) return done;
        }
        return add(*where, kept);
    }

   private:
    [[nodiscard]] std::unexpected<patch_fault> too_many_copies() const {
        return std::unexpected(patch_fault{
            .message = fmt::format("Unable to complete the copy, the accumulated size increase of copy is {}, "
                                   "exceeding the limit {}",
                                   copied_bytes_, json_patch_copied_bytes_max),
            .too_large = true});
    }

    [[nodiscard]] doc::ref find(const steps& where) const {
        doc::ref at = root_.at(0);
        for (const std::string& each : where) {
            const auto index = read_index(each);
            at = at.is_array() ? (index ? at.at(*index) : doc::ref{}) : at.get(each);
        }
        return at;
    }

    // The container of the last step, editable; nothing if there is none.
    doc::editor above(const steps& where) {
        doc::editor at = root_.child(std::size_t{0});
        for (std::size_t i = 0; at && i + 1 < where.size(); ++i) {
            const auto index = read_index(where[i]);
            if (at.type() == doc::kind::array) {
                at = index ? at.child(*index) : doc::editor{};
            } else {
                at = at.child(where[i]);
            }
        }
        return at;
    }

    static std::unexpected<patch_fault> nowhere(std::string_view what, const steps& where) {
        return misfit(fmt::format("{} operation does not apply: doc is missing path: \"/{}\": missing value", what,
                                  fmt::join(where, "/")));
    }

    std::expected<void, patch_fault> add(const steps& where, doc::ref value) {
        if (where.empty()) {
            root_.replace(0, value);
            return {};
        }
        doc::editor into = above(where);
        if (!into) return nowhere("add", where);
        if (into.type() == doc::kind::object) {
            into.set(where.back(), value);
            return {};
        }
        const auto index = where.back() == "-" ? std::optional{into.size()} : read_index(where.back());
        if (!index || *index > into.size()) return nowhere("add", where);
        into.insert(*index, value);
        return {};
    }

    std::expected<void, patch_fault> replace(const steps& where, doc::ref value) {
        if (where.empty()) return add(where, value);
        doc::editor into = above(where);
        // The server's library does not ask whether the member is there.
        if (into && into.type() == doc::kind::object) {
            into.set(where.back(), value);
        } else if (find(where)) {
            into.replace(*read_index(where.back()), value);
        } else {
            return nowhere("replace", where);
        }
        return {};
    }

    std::expected<void, patch_fault> remove(const steps& where) {
        if (where.empty() || !find(where)) return nowhere("remove", where);
        doc::editor from = above(where);
        if (from.type() == doc::kind::object) {
            from.remove(where.back());
        } else {
            from.remove(*read_index(where.back()));
        }
        return {};
    }

    std::expected<void, patch_fault> test(const steps& where, doc::ref value) {
        const doc::ref found = find(where);
        if (equal(found, value) || (value.is_null() && !found)) return {};
        return misfit(fmt::format("testing value /{} failed: test failed", fmt::join(where, "/")));
    }

    doc::arena& memory_;
    doc::editor root_;
    std::size_t copied_bytes_ = 0;
};

using crd::node;
using runtime::merge_field;

// A patch names items by the first key.
merge_field field_of(runtime::merge_type type, std::string_view name) {
    const node* const found = member_of(static_cast<const node*>(type), name).schema;
    if (found == nullptr || found->type != crd::value_type::array) return {.name = name, .of = found};
    if (is_atomic(found, nature::list)) return {.name = name};
    if (found->list == crd::list_type::set) return {.name = name, .rule = runtime::list_rule::values};
    return {name, runtime::list_rule::by_key, found->keys.front(), found->items.get()};
}

constexpr runtime::merge_schema served_types{.find = field_of,
                                             .one_of = [](runtime::merge_type) { return runtime::choice::none; }};

}  // namespace

doc::ref merge_patch(doc::arena& memory, doc::ref document, doc::ref patch) {
    if (!patch.is_object()) return patch;
    doc::editor out = document.is_object() ? doc::editor::of(memory, document) : doc::editor::object(memory);
    for (const doc::member& m : patch.members()) {
        if (m.value.is_null()) {
            out.remove(m.key());
        } else {
            out.set(m.key(), merge_patch(memory, out.get(m.key()), m.value));
        }
    }
    return out;
}

patched json_patch(doc::arena& memory, doc::ref document, doc::ref operations) {
    if (!operations.is_array()) return malformed("a JSON patch is a list of operations");
    if (operations.size() > json_patch_operations_max)
        return malformed(fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                                     json_patch_operations_max, operations.size()));
    patcher work(memory, document);
    for (const doc::ref each : operations.items()) {
        if (auto done = work.perform(each); !done) return std::unexpected(std::move(done.error()));
    }
    return work.document();
}

patched strategic_patch(doc::arena& memory, const crd::node* schema, doc::ref document, doc::ref patch) {
    auto merged = runtime::strategic_merge(memory, document, patch, served_types, schema);
    if (!merged) return malformed(std::move(merged.error().message));
    return *merged;
}

}  // namespace cotrain::sim
