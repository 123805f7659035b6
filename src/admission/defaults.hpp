// What the mutating webhook fills in: times of runtime patches, integers where the earlier dialect has words, and
// fields that a client has dropped because it does not know them.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/time.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::admission {

struct defaulted {
    doc::ref document;       // the TrainJob as it is to be stored
    std::string json_patch;  // what leads there (RFC 6902); empty = nothing changes
    std::vector<std::string> warnings{};
};

// Of a TrainJob that is created, or with `before` updated. An error (errc::invalid) where typed clients could not read
// the document: the API server's own checks of the schema come later.
[[nodiscard]] base::result<defaulted> default_train_job(doc::arena& memory, doc::ref document, doc::ref before,
                                                        base::seconds_time now);

}  // namespace cotrain::admission
