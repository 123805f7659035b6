// Who wants to know what happens to watched objects.
#pragma once

#include <cstdint>

#include "watch/kind.hpp"
#include "watch/object_store.hpp"

namespace cotrain::watch {

struct object_change {
    kind of{};
    handle at{};                            // in the store of the kind
    const object_record* object = nullptr;  // as it is now; its body, if any, is in the store
    std::uint8_t changes = nothing;         // bits of watch::change, never nothing
    text_id group_before = no_text;         // where it belonged, if that is not object->group; no_text if it is new
};

// Called from the event loop while an informer takes events in: note what is to be done and return. Records and texts
// hold until the call returns; retain the texts that are needed for longer. Do not change the store.
class listener {
   public:
    virtual void changed(const object_change& what) = 0;
    // It goes: the store still has it. A namesake that took its place follows with changed(added | replaced).
    virtual void removed(kind of, const object_record& last) = 0;
    // The store shows a whole picture, what had gone meanwhile was removed: after the first list and after each later.
    virtual void synced(kind of) = 0;
    // The server does not know the kind (any more); all its objects were removed.
    virtual void missing(kind of) = 0;

   protected:
    ~listener() = default;
};

}  // namespace cotrain::watch
