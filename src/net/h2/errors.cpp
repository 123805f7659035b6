// HTTP/2 error codes and nghttp2 return values as errors and endings.
#include "net/h2/errors.hpp"

#include <nghttp2/nghttp2.h>

namespace cotrain::net::h2 {

namespace {

// Longer words of a peer or of the library are cut.
constexpr std::size_t reason_bytes_max = 200;

static_assert(static_cast<std::uint32_t>(wire_code::no_error) == NGHTTP2_NO_ERROR);
static_assert(static_cast<std::uint32_t>(wire_code::protocol_error) == NGHTTP2_PROTOCOL_ERROR);
static_assert(static_cast<std::uint32_t>(wire_code::internal_error) == NGHTTP2_INTERNAL_ERROR);
static_assert(static_cast<std::uint32_t>(wire_code::refused_stream) == NGHTTP2_REFUSED_STREAM);
static_assert(static_cast<std::uint32_t>(wire_code::cancel) == NGHTTP2_CANCEL);
static_assert(static_cast<std::uint32_t>(wire_code::enhance_your_calm) == NGHTTP2_ENHANCE_YOUR_CALM);

base::error protocol_error(std::string_view what) {
    std::string text = "the peer broke HTTP/2: ";
    text.append(base::one_line(what, reason_bytes_max));
    return base::make_error(base::errc::protocol, std::move(text));
}

}  // namespace

std::string code_name(std::uint32_t code) {
    if (code <= NGHTTP2_HTTP_1_1_REQUIRED) return nghttp2_http2_strerror(code);
    return "code " + std::to_string(code);
}

breach breach_of(int library_error) {
    switch (library_error) {
        case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
            return {protocol_error("it does not begin with the HTTP/2 preface"), NGHTTP2_PROTOCOL_ERROR};
        case NGHTTP2_ERR_FLOODED: return flood_of("PING and SETTINGS without reading our answers");
        case -905:  // NGHTTP2_ERR_TOO_MANY_CONTINUATIONS, which older headers do not know
            return flood_of("CONTINUATION frames");
        case NGHTTP2_ERR_NOMEM:
            return {base::make_error(base::errc::internal, "HTTP/2: out of memory"), NGHTTP2_INTERNAL_ERROR};
        default: break;
    }
    std::string text = "HTTP/2 library: ";
    text.append(words_of(library_error));
    return {base::make_error(base::errc::internal, std::move(text)), NGHTTP2_INTERNAL_ERROR};
}

breach breach_of_goaway(std::uint32_t code, std::string_view reason) {
    std::string text = code_name(code);
    if (!reason.empty()) text.append(": ").append(reason);
    return {protocol_error(text), code};
}

breach flood_of(std::string_view what) {
    std::string text = "the peer floods: ";
    text.append(what);
    return {base::make_error(base::errc::protocol, std::move(text)), NGHTTP2_ENHANCE_YOUR_CALM};
}

const char* words_of(int library_error) { return nghttp2_strerror(library_error); }

ending ending_of(role as, const slot& s, std::uint32_t code) {
    if (code == NGHTTP2_NO_ERROR) {
        // A server that has answered may stop a request body with RST_STREAM(NO_ERROR): that is no loss.
        const bool settled = as == role::client ? s.remote_ended : s.local_ended;
        return settled ? ending::complete : ending::reset;
    }
    if (code == NGHTTP2_REFUSED_STREAM && as == role::client && !s.answered) return ending::refused;
    return ending::reset;
}

std::string detail_of(const slot& s, ending how, std::uint32_t code) {
    if (how == ending::complete) return {};
    std::string text = how == ending::refused ? "refused" : "reset";
    if (s.breach != nullptr) {
        text.append(" by us: ").append(code_name(code)).append(", ").append(s.breach);
    } else {
        text.append(s.peer_reset ? " by the peer: " : ": ").append(code_name(code));
    }
    return text;
}

}  // namespace cotrain::net::h2
