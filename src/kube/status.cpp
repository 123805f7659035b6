// Wording and classification of refusals.
#include "kube/status.hpp"

#include <fmt/format.h>

#include <charconv>

namespace cotrain::kube {

namespace {

// The phrase for answers without a reason of their own.
std::string_view phrase_of(int code) {
    switch (code) {
        case 301:
        case 302:
        case 307:
        case 308: return "Redirect";
        case 400: return "BadRequest";
        case 401: return "Unauthorized";
        case 403: return "Forbidden";
        case 404: return "NotFound";
        case 405: return "MethodNotAllowed";
        case 406: return "NotAcceptable";
        case 408: return "Timeout";
        case 409: return "Conflict";
        case 410: return "Gone";
        case 413: return "RequestEntityTooLarge";
        case 415: return "UnsupportedMediaType";
        case 422: return "Invalid";
        case 429: return "TooManyRequests";
        case 431: return "RequestHeaderFieldsTooLarge";
        case 500: return "InternalError";
        case 502: return "BadGateway";
        case 503: return "ServiceUnavailable";
        case 504: return "Timeout";
        default: return code >= 500 ? "ServerError" : "Refused";
    }
}

// Whether the same request can succeed later. 429, and 503 with a time to come back, say "not processed".
base::retry again_of(int code, bool with_retry_after) {
    switch (code) {
        case 429: return base::retry::later;
        case 503: return with_retry_after ? base::retry::later : base::retry::idempotent;
        case 408:
        case 500:
        case 502:
        case 504: return base::retry::idempotent;
        default: return base::retry::never;
    }
}

// The server's message, and the causes that it does not spell out itself.
std::string text_of(const status& said) {
    std::string text = said.message;
    for (const status_cause& cause : said.causes) {
        if (!cause.message.empty() && text.find(cause.message) != std::string::npos) continue;
        if (cause.message.empty() && cause.field.empty()) continue;
        if (!text.empty()) text += "; ";
        text += cause.field;
        if (!cause.field.empty() && !cause.message.empty()) text += ": ";
        text += cause.message;
    }
    return text;
}

base::error make(std::string_view attempt, int code, std::string_view reason, std::string_view text,
                 std::optional<std::chrono::milliseconds> retry_after) {
    const std::string_view shown = reason.empty() ? phrase_of(code) : reason;
    std::string message = fmt::format("{}: {} {}", attempt, code, base::one_line(shown, 64));
    if (!text.empty()) message.append(": ").append(base::one_line(text, status_message_bytes_max));
    base::error e = base::make_error(base::errc::status, again_of(code, retry_after.has_value()), std::move(message));
    e.http_status = code;
    e.reason = base::one_line(reason, 64);
    e.retry_after = retry_after;
    return e;
}

bool blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && blank(text.back())) text.remove_suffix(1);
    return text;
}

}  // namespace

std::optional<std::chrono::milliseconds> read_retry_after(const net::header_list& headers) {
    const std::string_view value = trimmed(net::find_header(headers, "retry-after"));
    unsigned seconds = 0;
    const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), seconds);
    if (fault != std::errc{} || end != value.data() + value.size()) return std::nullopt;
    return std::chrono::seconds(seconds);
}

base::error status_error(std::string_view attempt, int http_status, const net::header_list& headers,
                         std::string_view body) {
    auto retry_after = read_retry_after(headers);
    auto said = read_status(body);
    if (!said) return make(attempt, http_status, {}, base::one_line(trimmed(body.substr(0, 1024)), 200), retry_after);
    if (!retry_after && said->retry_after) retry_after = *said->retry_after;
    return make(attempt, http_status, said->reason, text_of(*said), retry_after);
}

base::error status_error(std::string_view attempt, const status& said) {
    std::optional<std::chrono::milliseconds> retry_after;
    if (said.retry_after) retry_after = *said.retry_after;
    return make(attempt, said.code, said.reason, text_of(said), retry_after);
}

}  // namespace cotrain::kube
