// Objects as rows of a table (metav1.Table): what `kubectl get` prints.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "sim/store.hpp"

namespace cotrain::sim {

// What each row carries beside its cells.
enum class row_object : std::uint8_t { none, metadata, whole };

struct list_facts {
    std::string resource_version;
    std::string continue_token{};
    std::size_t remaining = 0;
};

[[nodiscard]] std::string make_table(const kind& of, std::span<const record_ptr> rows, row_object with,
                                     const list_facts& facts, base::seconds_time now, bool columns = true);
// The value at a path of a printer column: ".status.conditions[?(@.type==\"Ready\")].status", ".spec.parts[0].name".
[[nodiscard]] doc::ref look_up(doc::ref at, std::string_view path);
// An object's metadata alone (PartialObjectMetadata).
[[nodiscard]] std::string only_metadata(const record& object);

// "5s", "3m12s", "4d": kubectl's short words for a time that has passed.
[[nodiscard]] std::string short_duration(std::chrono::seconds passed);

}  // namespace cotrain::sim
