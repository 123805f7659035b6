// Lookups in what was observed.
#include "runtime/observed.hpp"

namespace cotrain::runtime {

child_state observed::state_of(const api::resource_type& type, std::string_view name) const {
    for (const auto& child : children) {
        if (child.name == name && child.type->kind == type.kind && child.type->group == type.group) return child.state;
    }
    return child_state::absent;
}

}  // namespace cotrain::runtime
