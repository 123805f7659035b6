// Which children there are, what they are to be, and which of them are as planned.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "reconcile/job_set_templates.hpp"
#include "reconcile/trainjob/progress.hpp"
#include "runtime/object.hpp"

namespace cotrain::reconcile {

struct found_child {
    const child_type* type = nullptr;
    std::string name;
    stored_object now{};
    runtime::child_state state = runtime::child_state::absent;

    [[nodiscard]] bool usable() const {
        return state == runtime::child_state::ours || state == runtime::child_state::premade;
    }
};
// What exists under the names that children need.
[[nodiscard]] std::vector<found_child> find_children(const job_view& v, const job_history& known);

// Of a running job: whether no child but its JobSet is missing or was changed.
[[nodiscard]] bool children_are_known_good(const job_view& v, const job_history& known);
// After a start: children of a running job that are there count as right. Whether one is missing the runtime's name
// tells well enough; whether a Secret is, nobody knows before Pods start again.
void adopt_children(const job_view& v, job_history& known, const runtime::compiled_runtime* runtime);

// How an object of the plan stands, as the stores show it.
struct standing {
    enum kind : std::uint8_t {
        so,      // as planned
        apply,   // it is not, or not there
        repair,  // others have undone it
        wait,    // likewise, too often: not before `pause` has passed
        closed   // it failed, or waits for something else: not again in this run
    };
    kind what = so;
    std::chrono::nanoseconds pause{0};
};
[[nodiscard]] standing standing_of(const job_view& v, const progress& p, const step& s, moment now);
[[nodiscard]] inline bool is_open(const standing& s) { return s.what == standing::apply || s.what == standing::repair; }

// Fills in step::good: what need not be sent.
void compare_plan(const job_view& v, progress& p);

}  // namespace cotrain::reconcile
