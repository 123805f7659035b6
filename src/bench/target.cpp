#include "bench/target.hpp"

namespace cotrain::bench {

void follower::made(std::int64_t number) {
    if (static_cast<std::size_t>(number) >= stages_.size()) stages_.resize(static_cast<std::size_t>(number) + 1);
}

void follower::update_begins(std::int64_t number) { stages_[static_cast<std::size_t>(number)].updated = false; }

bool follower::is_done(std::int64_t number) const {
    return number >= 0 && static_cast<std::size_t>(number) < stages_.size() &&
           stages_[static_cast<std::size_t>(number)].done;
}

void follower::removed(const object_type& type, std::string_view name) {
    if (type != of_.type) return;
    if (const std::int64_t number = of_.name.number_of(name); number >= 0) to_.gone(number);
}

}  // namespace cotrain::bench
