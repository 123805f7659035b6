// Rules for repeating requests after a lost connection or a refused stream.
#include "net/repeat.hpp"

namespace cotrain::net {

bool should_repeat(const attempt& a) {
    if (a.answered || a.made > a.repeats_max) return false;
    switch (a.how) {
        case h2::ending::refused: return true;
        case h2::ending::lost: return a.idempotent;
        case h2::ending::reset:
        case h2::ending::too_large:
        case h2::ending::complete:
        case h2::ending::cancelled: return false;
    }
    return false;
}

base::error explain(const attempt& a, std::string_view peer) {
    std::string text(peer);
    text += ": ";
    text += a.detail.empty() ? std::string_view("no detail") : a.detail;
    if (a.made > 1) text += " (attempt " + std::to_string(a.made) + ")";
    switch (a.how) {
        case h2::ending::refused: return base::make_error(base::errc::refused, std::move(text));
        case h2::ending::too_large: return base::make_error(base::errc::too_large, std::move(text));
        case h2::ending::cancelled: return base::make_error(base::errc::canceled, std::move(text));
        case h2::ending::reset:
            return base::make_error(base::errc::protocol, base::retry::idempotent,
                                    text + "; the peer reset the stream, it may have processed the request");
        case h2::ending::complete:
            return base::make_error(base::errc::protocol, base::retry::idempotent,
                                    text + "; the stream ended without an answer");
        case h2::ending::lost: break;
    }
    return base::make_error(
        base::errc::lost, text + (a.answered ? "; the answer is incomplete" : "; the request may have been processed"));
}

}  // namespace cotrain::net
