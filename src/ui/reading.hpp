// What the page shows, read from the objects of the API server: tolerant of absent fields, bounded in texts. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "doc/tree.hpp"
#include "ui/fleet.hpp"
#include "ui/wire.hpp"
#include "watch/decode.hpp"

namespace cotrain::ui {

// Of one text in a list…
inline constexpr std::size_t row_text_bytes_max = 300;
// …and on a job's page.
inline constexpr std::size_t text_bytes_max = 4UL * 1024;
inline constexpr std::size_t conditions_max = 64;
inline constexpr std::size_t parts_max = 100;
inline constexpr std::size_t endpoints_max = 64;
inline constexpr std::size_t failures_bytes_max = 64UL * 1024;

// Objects as a watch has them. What is wrong in a spec or status counts as absent.
[[nodiscard]] job_facts read_job(const watch::object_view& object);
[[nodiscard]] set_facts read_set(const watch::object_view& object);
// The TrainJob that controls it; empty if none does.
[[nodiscard]] std::string owner_of(const watch::object_view& object);

// Whole objects. `set` may be absent.
[[nodiscard]] job_details read_details(doc::ref job, doc::ref set);
[[nodiscard]] pod_row read_pod(doc::ref pod);
[[nodiscard]] event_row read_event(doc::ref event);

}  // namespace cotrain::ui
