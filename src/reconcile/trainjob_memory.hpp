// What the reconciler remembers of unfinished TrainJobs between runs; all of it can be found out again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "api/arena.hpp"
#include "api/jobset.hpp"
#include "reconcile/delay_queue.hpp"
#include "reconcile/readiness.hpp"
#include "runtime/compiled_runtime.hpp"
#include "watch/kind.hpp"
#include "watch/text_table.hpp"
#include "watch/uid.hpp"

namespace cotrain::reconcile {

// A child as it was left by our last apply, or found after a start.
struct child_memory {
    watch::kind of{};
    std::uint64_t name = 0;  // hash
    std::uint64_t sent = 0;  // hash of what was applied; 0: it was found, and taken for right
    std::uint64_t left = 0;  // its version, or the print of its spec
};

// Others may undo what we apply. The first repairs are made at once, further ones once in a while. One that the API
// server refuses is none: the queue's backoff is for those.
inline constexpr unsigned repairs_at_once = 5;
inline constexpr auto repair_pause = std::chrono::minutes(1);
// So long without one, and the next ones are first repairs again.
inline constexpr auto repair_calm = std::chrono::minutes(10);

// Whose status others change faster than it is written begins again at once that often, then like a failure.
inline constexpr unsigned begin_again_max = 5;

struct job_memory {
    watch::uid job{};
    std::uint64_t settled = 0;     // the footprint for which nothing was left to apply; 0: none
    std::uint32_t stirred = 0;     // events so far that concerned the job
    bool known = false;            // its children are those below
    bool made_here = false;        // its snapshot was made by this operator, and so its JobSet
    bool goes_on = false;          // it had not ended when it was last looked at, and no end was written since
    bool recalled = false;         // of a reopened job: what the stores had let go of was asked for
    std::uint8_t begun_again = 0;  // runs in a row that others overtook
    readiness pods = readiness::unseen;
    watch::uid premade_secret{};  // that nobody controls, and that was found to be a pair of keys
    std::uint64_t runtime_version = 0;
    std::weak_ptr<const runtime::compiled_runtime> runtime{};  // of the snapshot in that version, if it is still kept
    std::string snapshot_hash{};                               // that the status does not have yet
    std::vector<child_memory> children{};
    moment last_repair{};
    std::uint16_t repairs = 0;

    [[nodiscard]] child_memory* find(watch::kind of, std::uint64_t name) {
        for (child_memory& c : children)
            if (c.of == of && c.name == name) return &c;
        return nullptr;
    }
    child_memory& at(watch::kind of, std::uint64_t name) {
        child_memory* const before = find(of, name);
        return before != nullptr ? *before : children.emplace_back(child_memory{.of = of, .name = name});
    }
    [[nodiscard]] bool may_repair(moment now) const {
        return repairs < repairs_at_once || now - last_repair >= repair_pause;
    }
    void repaired(moment now) {
        if (now - last_repair >= repair_calm) repairs = 0;
        if (repairs < repairs_at_once) ++repairs;
        last_repair = now;
    }
};

// A JobSet that had ended and went (its time to live may be 0) before its TrainJob said so.
struct ended_set {
    api::arena memory{};
    watch::uid job{};
    api::job_set set{};
};

using ended_sets = std::unordered_map<watch::text_id, std::shared_ptr<const ended_set>>;
using job_memories = std::unordered_map<watch::text_id, job_memory>;

}  // namespace cotrain::reconcile
