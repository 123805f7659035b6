// The metadata that every Kubernetes object has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/time.hpp"
#include "doc/decode.hpp"
#include "doc/edit.hpp"
#include "doc/tree.hpp"

namespace cotrain::api {

struct owner_reference {
    std::string_view api_version;
    std::string_view kind;
    std::string_view name;
    std::string_view uid;
    bool controller = false;
    bool block_owner_deletion = false;
};

// Views into the document it was read from, as in all decoded structs here.
struct object_meta {
    std::string_view name;
    std::string_view generate_name;
    std::string_view ns;
    std::string_view uid;
    std::string_view resource_version;
    std::int64_t generation = 0;
    doc::ref labels;       // string → string
    doc::ref annotations;  // string → string
    doc::ref finalizers;   // strings
    std::vector<owner_reference> owner_references;
    std::optional<base::seconds_time> creation_time;
    std::optional<base::seconds_time> deletion_time;

    [[nodiscard]] bool deleting() const { return deletion_time.has_value(); }
    [[nodiscard]] std::string_view label(std::string_view key) const { return labels.get(key).as_string(); }
    [[nodiscard]] std::string_view annotation(std::string_view key) const { return annotations.get(key).as_string(); }
    // The owner that controls this object, or null.
    [[nodiscard]] const owner_reference* controller() const;
    [[nodiscard]] bool controlled_by(std::string_view owner_uid) const;
};

// Reads the member "metadata" of `object`.
[[nodiscard]] object_meta decode_meta(const doc::place& object);

// The owner reference that every applied object carries: controller and blockOwnerDeletion are true.
[[nodiscard]] doc::ref controller_reference(doc::arena& memory, doc::word api_version, doc::word kind,
                                            const object_meta& owner);
// {"apiVersion", "kind", "metadata": {"name", "namespace"}}: the start of an object to apply.
[[nodiscard]] doc::editor new_object(doc::arena& memory, doc::word api_version, doc::word kind, std::string_view name,
                                     std::string_view ns);

}  // namespace cotrain::api
