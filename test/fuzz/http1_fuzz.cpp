// Any bytes as requests to an HTTP/1.1 server: bounded, answered in order, and the same however they are cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "budget.hpp"
#include "net/http1/session.hpp"

namespace {

namespace http1 = cotrain::net::http1;

constexpr http1::limits bounds{.header_bytes_max = 2048, .body_bytes_max = 4096};

void demand(bool holds) {
    if (!holds) std::abort();
}

struct outcome {
    std::vector<std::string> seen;
    std::string said;
    bool over = false;
};

void answer(http1::session& s, const http1::request& what) {
    if (what.head.path.size() % 2 == 0) return s.respond(200, {{"x-path", what.head.path}}, what.body);
    s.begin(200, {{"x-path", what.head.path}});
    s.write(what.body);
    s.write("end");
    s.finish({{"t", what.head.method}});
}

// Gives the session what it takes, `cut` bytes at a time.
outcome play(std::string_view input, std::size_t cut) {
    http1::session s(bounds);
    outcome out;
    std::string pending;
    for (std::size_t at = 0; at < input.size(); at += cut) {
        pending.append(input.substr(at, cut));
        for (bool again = true; again && !pending.empty();) {
            const std::size_t taken = s.feed(pending);
            demand(taken <= pending.size());
            pending.erase(0, taken);
            again = taken != 0;
            demand(s.body_bytes() <= bounds.body_bytes_max);
            if (auto ready = s.take()) {
                demand(s.answering());
                demand(s.feed("GET / HTTP/1.1\r\n") == 0);
                demand(ready->body.size() <= bounds.body_bytes_max);
                out.seen.push_back(ready->head.method + " " + ready->head.path + " " + ready->body);
                answer(s, *ready);
                again = true;
            }
            demand(!s.answering());
            if (s.closing()) break;
        }
        // What is not taken is at most a request's head or a line of a chunk.
        demand(s.closing() || pending.size() <= bounds.header_bytes_max + cut);
        if (s.closing()) break;
    }
    out.said = std::string(s.outgoing().view());
    out.over = s.closing();
    return out;
}

// A server's session, with the bounds that servers have.
void serve(std::string_view input) {
    http1::session s(http1::limits{});
    while (!input.empty() && !s.closing()) {
        const std::size_t taken = s.feed(input);
        input.remove_prefix(taken);
        const auto ready = s.take();
        if (ready) s.respond(200, {}, "ok");
        if (taken == 0 && !ready) break;
        s.outgoing().clear();
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    cotrain::fuzz::at_two_sizes(input, [](std::string_view text) {
        cotrain::fuzz::within_budget("HTTP/1", text.size(), [&] { serve(text); });
    });
    const outcome whole = play(input, input.size() + 1);
    const outcome pieces = play(input, 3);
    demand(whole.seen == pieces.seen);
    // Not `over`: Boost 1.81 tells of a malformed line of a head before its end, or only then, as the bytes are cut.
    return 0;
}
