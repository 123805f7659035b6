// The one error type of all rooms: what was attempted, why it failed, and whether trying again makes sense.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace cotrain::base {

// Why something failed; the API server's own verdicts are `status` with error::http_status and error::reason set.
enum class errc : std::uint8_t {
    canceled,   // the caller gave up, or its owner stops
    deadline,   // no answer within the time given
    connect,    // the peer could not be reached
    lost,       // an established connection broke
    tls,        // handshake, certificate or record error
    protocol,   // the peer broke the protocol
    refused,    // the peer did not process the request (REFUSED_STREAM, above GOAWAY's last stream)
    too_large,  // a named bound was exceeded
    status,     // the API server answered with a failure
    decode,     // bytes that are not what they should be
    invalid,    // input by a user that cannot be used
    auth,       // no credentials, or none that can be read
    internal,   // a bug on our side, reported instead of hidden
};

[[nodiscard]] std::string_view to_string(errc code);

// Whether the same attempt can succeed later.
enum class retry : std::uint8_t {
    never,      // needs another input
    later,      // may be repeated whatever the request was: it was not processed
    idempotent  // may have been processed: repeat only what may happen twice
};

struct error {
    errc code = errc::internal;
    retry again = retry::never;
    int http_status = 0;                                     // with errc::status
    std::string message;                                     // one line: "apply JobSet ns/name: 409 Conflict: …"
    std::string reason;                                      // Kubernetes' Status.reason, when there is one
    std::optional<std::chrono::milliseconds> retry_after{};  // the peer's own wish

    // Puts what was attempted before the message: "attempt: message".
    [[nodiscard]] error during(std::string_view attempt) &&;
};

template <class T = void>
using result = std::expected<T, error>;

// An error by its code; `again` follows from the code unless it is given.
[[nodiscard]] error make_error(errc code, std::string message);
[[nodiscard]] error make_error(errc code, retry again, std::string message);
[[nodiscard]] inline std::unexpected<error> fail(errc code, std::string message) {
    return std::unexpected(make_error(code, std::move(message)));
}
[[nodiscard]] inline std::unexpected<error> fail(error e) { return std::unexpected(std::move(e)); }

// At most `bytes_max` bytes of `text`, cut at a UTF-8 boundary, with "…" where something was cut;
// control bytes become spaces so that the text stays one line.
[[nodiscard]] std::string one_line(std::string_view text, std::size_t bytes_max);

}  // namespace cotrain::base
