// One request on its way and what has come back of it; shared by the caller, the client and a connection.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "base/byte_queue.hpp"
#include "base/error.hpp"
#include "base/signal.hpp"
#include "net/h2/session.hpp"
#include "net/http.hpp"
#include "net/liveness.hpp"

namespace cotrain::net {

class connection;
struct exchange;
using deadline_map = std::multimap<time_point, exchange*>;

struct exchange {
    request what;
    bool whole = true;  // the body is collected; otherwise it is read piece by piece
    time_point deadline;
    deadline_map::iterator alarm;
    bool alarmed = false;  // `alarm` is in the map
    bool hedged = false;   // a lease request that was already moved to a fresh connection
    unsigned attempts = 0;

    connection* on = nullptr;  // set while a stream carries it
    h2::stream_key stream{};

    int status = 0;  // 0 until the response's head has come
    header_list headers;
    std::string text;                   // the body, when it is collected
    base::byte_queue body{16U << 10U};  // what the reader has not taken yet, when it is read piece by piece
    header_list trailers;
    bool ended = false;  // the whole response is here
    std::optional<base::error> failure;
    bool announced = false;  // already in the list of those to be woken
    base::signal changed;

    [[nodiscard]] bool settled() const { return ended || failure.has_value(); }
};

}  // namespace cotrain::net
