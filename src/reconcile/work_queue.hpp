// The queue of keys that wait to be reconciled: no key twice, none in parallel with itself, new and old work both move.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reconcile/key.hpp"

namespace cotrain::reconcile {

// Who waits. `fresh`: something just happened to the object. `backlog`: everything that a start or a relist brings
// up at once, and repetitions of what failed.
enum class work : std::uint8_t { fresh, backlog };

// While both classes wait, this many fresh keys go before one of the backlog. So a new job passes a restart storm
// of any length, and the storm still gets every fifth turn however much is new.
inline constexpr unsigned fresh_turns = 4;

// The contract of Kubernetes' work queues: a key that is added while it waits is not added again (but one of the
// backlog becomes fresh); added while it is worked on, it waits again as soon as that is done; each class is served in
// order. Works on slots of a key_table; allocates only when a slot is higher than any that there is room for.
class work_queue {
   public:
    // For all slots below that number.
    void make_room(std::uint32_t slots) {
        if (slots > entries_.size()) entries_.resize(slots);
    }
    // Returns whether the key started to wait, or will when its current run is done.
    bool add(slot s, work how);
    // The next key, which counts as worked on until done().
    [[nodiscard]] std::optional<slot> take();
    // Returns whether the key waits again.
    bool done(slot s);

    [[nodiscard]] bool waiting(slot s) const { return s < entries_.size() && entries_[s].waiting; }
    [[nodiscard]] bool running(slot s) const { return s < entries_.size() && entries_[s].running; }
    // Neither waiting nor worked on.
    [[nodiscard]] bool idle(slot s) const { return !waiting(s) && !running(s); }
    [[nodiscard]] std::uint32_t depth() const { return lists_[0].size + lists_[1].size; }
    [[nodiscard]] std::uint32_t depth(work of) const { return lists_[static_cast<unsigned>(of)].size; }
    // Gives memory back; only while nothing waits or runs.
    void trim();

   private:
    struct entry {
        slot before = no_slot;
        slot after = no_slot;
        bool waiting = false;
        bool running = false;
        bool again = false;  // added while running
        work how = work::fresh;
    };
    struct list {
        slot first = no_slot;
        slot last = no_slot;
        std::uint32_t size = 0;
    };
    void append(slot s, work how);
    void unlink(slot s);

    std::vector<entry> entries_;
    list lists_[2];
    unsigned turn_ = 0;  // fresh keys taken since the last of the backlog
};

}  // namespace cotrain::reconcile
