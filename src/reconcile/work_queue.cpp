// Intrusive lists of waiting slots and the turns between them.
#include "reconcile/work_queue.hpp"

#include <cassert>

namespace cotrain::reconcile {

void work_queue::append(slot s, work how) {
    list& into = lists_[static_cast<unsigned>(how)];
    entry& e = entries_[s];
    e.waiting = true;
    e.how = how;
    e.before = into.last;
    e.after = no_slot;
    (into.last == no_slot ? into.first : entries_[into.last].after) = s;
    into.last = s;
    ++into.size;
}

void work_queue::unlink(slot s) {
    entry& e = entries_[s];
    list& from = lists_[static_cast<unsigned>(e.how)];
    (e.before == no_slot ? from.first : entries_[e.before].after) = e.after;
    (e.after == no_slot ? from.last : entries_[e.after].before) = e.before;
    --from.size;
    e.waiting = false;
}

bool work_queue::add(slot s, work how) {
    make_room(s + 1);
    entry& e = entries_[s];
    if (e.running) {
        const bool first = !e.again;
        if (first || how == work::fresh) e.how = how;
        e.again = true;
        return first;
    }
    if (!e.waiting) {
        append(s, how);
        return true;
    }
    if (e.how == work::backlog && how == work::fresh) {
        unlink(s);
        append(s, work::fresh);
    }
    return false;
}

std::optional<slot> work_queue::take() {
    const list& fresh = lists_[static_cast<unsigned>(work::fresh)];
    const list& backlog = lists_[static_cast<unsigned>(work::backlog)];
    if (fresh.size + backlog.size == 0) return std::nullopt;
    const bool old = fresh.size == 0 || (backlog.size != 0 && turn_ >= fresh_turns);
    turn_ = old ? 0 : turn_ + 1;
    const slot s = old ? backlog.first : fresh.first;
    unlink(s);
    entries_[s].running = true;
    return s;
}

bool work_queue::done(slot s) {
    entry& e = entries_[s];
    assert(e.running);
    e.running = false;
    if (!e.again) return false;
    e.again = false;
    append(s, e.how);
    return true;
}

void work_queue::trim() {
    assert(depth() == 0);
    entries_ = {};
}

}  // namespace cotrain::reconcile
