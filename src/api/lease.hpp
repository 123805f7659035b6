// The lease of leader election.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "api/meta.hpp"
#include "base/error.hpp"
#include "base/time.hpp"

namespace cotrain::api {

struct lease {
    object_meta meta;
    std::string_view holder;
    std::int32_t duration_seconds = 0;
    std::optional<base::micros_time> acquire_time;
    std::optional<base::micros_time> renew_time;
    std::int32_t transitions = 0;
    doc::ref document;
};

[[nodiscard]] base::result<lease> decode_lease(doc::ref document);
// The document with the election's fields as in `l`: what was there beside them stays (labels, newer fields), and
// resourceVersion guards against concurrent writers. Without a document, a new one.
[[nodiscard]] doc::ref encode_lease(doc::arena& memory, const lease& l);

}  // namespace cotrain::api
