// Members in a list, their places in a map.
#include "runtime/object_draft.hpp"

#include "api/tree_builder.hpp"

namespace cotrain::runtime {

using api::ref;

object_draft::object_draft(api::arena& memory, ref original)
    : memory_(&memory), members_(original.members().begin(), original.members().end()) {
    for (std::size_t i = 0; i < members_.size(); ++i) places_.emplace(members_[i].key(), i);
}

ref object_draft::get(std::string_view key) const {
    const auto found = places_.find(key);
    return found == places_.end() ? ref{} : members_[found->second].value;
}

void object_draft::set(std::string_view key, ref value) {
    if (const auto found = places_.find(key); found != places_.end()) {
        if (ref& there = members_[found->second].value) {
            there = value;
            return;
        }
        places_.erase(found);  // what was removed comes back behind all others
    }
    const ref name = ref::make_string(memory_->copy(key));
    places_.emplace(name.text(), members_.size());
    members_.push_back({name, value});
}

void object_draft::remove(std::string_view key) {
    if (const auto found = places_.find(key); found != places_.end()) members_[found->second].value = ref{};
}

ref object_draft::close() const {
    api::tree_builder out(*memory_);
    const std::size_t mark = out.mark();
    for (const api::member& m : members_) {
        if (!m.value) continue;
        out.push(m.name);
        out.push(m.value);
    }
    return out.close(api::kind::object, mark);
}

}  // namespace cotrain::runtime
