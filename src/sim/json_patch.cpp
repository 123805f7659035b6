// JSON patch (RFC 6902), as the API server's library understands it.
#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "api/edit.hpp"
#include "api/json.hpp"
#include "sim/patch.hpp"

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
    patcher(api::arena& memory, api::ref document) : memory_(memory), root_(api::editor::array(memory)) {
        root_.append(document);
    }
    [[nodiscard]] api::ref document() const { return root_.at(0); }

    std::expected<void, patch_fault> perform(api::ref operation) {
        const std::string_view what = operation.get("op").as_string();
        const auto where = read_pointer(operation.get("path").as_string());
        if (!operation.get("path").is_string() || !where) return malformed("path: not a JSON pointer");
        const api::ref value = operation.get("value");
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
        const api::ref moved = find(*from);
        if (!moved) return misfit(fmt::format("{} operation does not apply: there is nothing at from", what));
        if (what == "copy") {
            copied_bytes_ += api::to_json(moved).size();
            if (copied_bytes_ > json_patch_copied_bytes_max) return too_many_copies();
        }
        const api::ref kept = deep_copy(memory_, moved);
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

    [[nodiscard]] api::ref find(const steps& where) const {
        api::ref at = root_.at(0);
        for (const std::string& each : where) {
            const auto index = read_index(each);
            at = at.is_array() ? (index ? at.at(*index) : api::ref{}) : at.get(each);
        }
        return at;
    }

    // The container of the last step, editable; nothing if there is none.
    api::editor above(const steps& where) {
        api::editor at = root_.child(std::size_t{0});
        for (std::size_t i = 0; at && i + 1 < where.size(); ++i) {
            const auto index = read_index(where[i]);
            if (at.type() == api::kind::array) {
                at = index ? at.child(*index) : api::editor{};
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

    std::expected<void, patch_fault> add(const steps& where, api::ref value) {
        if (where.empty()) {
            root_.replace(0, value);
            return {};
        }
        api::editor into = above(where);
        if (!into) return nowhere("add", where);
        if (into.type() == api::kind::object) {
            into.set(where.back(), value);
            return {};
        }
        const auto index = where.back() == "-" ? std::optional{into.size()} : read_index(where.back());
        if (!index || *index > into.size()) return nowhere("add", where);
        into.insert(*index, value);
        return {};
    }

    std::expected<void, patch_fault> replace(const steps& where, api::ref value) {
        if (where.empty()) return add(where, value);
        api::editor into = above(where);
        // The server's library does not ask whether the member is there.
        if (into && into.type() == api::kind::object) {
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
        api::editor from = above(where);
        if (from.type() == api::kind::object) {
            from.remove(where.back());
        } else {
            from.remove(*read_index(where.back()));
        }
        return {};
    }

    std::expected<void, patch_fault> test(const steps& where, api::ref value) {
        const api::ref found = find(where);
        if (equal(found, value) || (value.is_null() && !found)) return {};
        return misfit(fmt::format("testing value /{} failed: test failed", fmt::join(where, "/")));
    }

    api::arena& memory_;
    api::editor root_;
    std::size_t copied_bytes_ = 0;
};

}  // namespace

patched json_patch(api::arena& memory, api::ref document, api::ref operations) {
    if (!operations.is_array()) return malformed("a JSON patch is a list of operations");
    if (operations.size() > json_patch_operations_max)
        return malformed(fmt::format("The allowed maximum operations in a JSON patch is {}, got {}",
                                     json_patch_operations_max, operations.size()));
    patcher work(memory, document);
    for (const api::ref each : operations.items()) {
        if (auto done = work.perform(each); !done) return std::unexpected(std::move(done.error()));
    }
    return work.document();
}

}  // namespace cotrain::sim
