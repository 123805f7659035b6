// What the API server does with a custom resource's body: drop what the schema does not know, fill in defaults, judge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "crd/node.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::crd {

// Where a value is in a document; its path is spelled out on demand only.
// A place refers to the place above it and to the member's name, which must outlive it.
class place {
   public:
    place() = default;
    [[nodiscard]] place member(std::string_view name) const { return {this, step::member, name, 0}; }
    [[nodiscard]] place item(std::size_t index) const { return {this, step::item, {}, index}; }
    [[nodiscard]] bool is_root() const { return above_ == nullptr; }
    [[nodiscard]] std::string path() const;

   private:
    enum class step : std::uint8_t { root, member, item };
    place(const place* above, step s, std::string_view name, std::size_t index)
        : above_(above), name_(name), index_(index), step_(s) {}

    const place* above_ = nullptr;
    std::string_view name_{};
    std::size_t index_ = 0;
    step step_ = step::root;
};

// More faults or unknown fields than this are not listed.
inline constexpr std::size_t violations_max = 100;
inline constexpr std::size_t unknown_fields_max = 100;
// Values shown in messages are cut to this.
inline constexpr std::size_t shown_value_bytes_max = 120;

enum class fault : std::uint8_t { required, type, unsupported, too_long, too_many, invalid, duplicate, rule };
// As the API server puts it: "Required value", "Too many", …
[[nodiscard]] std::string_view to_string(fault f);

struct violation {
    std::string path;  // "spec.trainer.env[0].name"; empty = the object itself
    fault kind = fault::invalid;
    std::string detail;
};
// "spec.trainer.env: Too many: 129: must have at most 128 items"; the object itself is called <nil>.
[[nodiscard]] std::string to_string(const violation& v);

struct shaped {
    doc::ref document;
    std::vector<std::string> unknown_fields;  // paths, for warnings
};

// Drops unknown members (kind, apiVersion and metadata stay as they are), nulls that mean "not set", and fills in
// defaults. What needs no change is shared with `document`.
[[nodiscard]] shaped shape(doc::arena& memory, const node& schema, doc::ref document);

// All faults of a document that has been shaped. With `old`, the judgement of an update: rules about changes count, and
// what is as it was is forgiven. Rules are looked at only where types, required members and sizes are right.
[[nodiscard]] std::vector<violation> check(const node& schema, doc::ref document, doc::ref old = {});

// The first list or object of the document that has more items or members than its schema allows, found without a look
// into it; `name` is what paths begin with. What an update leaves as it was in `old` is forgiven.
[[nodiscard]] std::optional<violation> find_too_many(const node& schema, std::string_view name, doc::ref document,
                                                     doc::ref old = {});

// Values of the wrong type, integers that do not fit, times and quantities that are none. Unknown members, absent ones
// and null pass, as they do in Go.
[[nodiscard]] std::vector<violation> check_typed(const node& schema, doc::ref document);

// Faults of names, labels, annotations, owners and finalizers. A name is required; values of wrong types are not told.
[[nodiscard]] std::vector<violation> check_metadata(doc::ref metadata);

// Paths of members that metadata does not have, which the API server drops with a warning.
[[nodiscard]] std::vector<std::string> unknown_metadata(doc::ref metadata);

}  // namespace cotrain::crd
