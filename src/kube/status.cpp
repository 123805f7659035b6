#include "kube/status.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <glaze/json/read.hpp>

#include "base/error.hpp"
#include "base/json_text.hpp"

namespace cotrain::kube::wire {

struct details {
    std::string name;
    std::string kind;
    std::string uid;
    std::vector<status_cause> causes;
    std::int64_t retryAfterSeconds = 0;
};

struct status {
    std::string kind;
    std::string status;
    std::string message;
    std::string reason;
    wire::details details;
    int code = 0;
};

}  // namespace cotrain::kube::wire

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

// Of a long one the beginning and the end: what is wrong comes after the value that is.
std::string without_middle(std::string_view text) {
    constexpr std::size_t end_bytes = 256;
    if (text.size() <= status_message_bytes_max) return base::one_line(text, status_message_bytes_max);
    std::string_view end = text.substr(text.size() - end_bytes);
    while (!end.empty() && (static_cast<unsigned char>(end.front()) & 0xC0U) == 0x80U) end.remove_prefix(1);
    return base::one_line(text, status_message_bytes_max - end_bytes).append(base::one_line(end, end_bytes));
}

base::error make(std::string_view attempt, int code, std::string_view reason, std::string_view text,
                 std::optional<std::chrono::milliseconds> retry_after) {
    const std::string_view shown = reason.empty() ? phrase_of(code) : reason;
    std::string message = fmt::format("{}: {} {}", attempt, code, base::one_line(shown, 64));
    if (!text.empty()) message.append(": ").append(without_middle(text));
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

// What the API server answers where it has no such group, and where the group has no such resource.
bool is_unserved(int code, std::string_view text) {
    return code == 404 && (text == "404 page not found" || text == "the server could not find the requested resource");
}
constexpr std::string_view unserved_text =
    "the API server does not serve this kind: is its CustomResourceDefinition installed?";

constexpr base::strict_json<glz::opts> rules{};

// A wait that does not fit is no wait at all: the peer is not to be trusted with our arithmetic.
std::optional<std::chrono::seconds> seconds_of(std::int64_t wire) {
    constexpr std::int64_t day_s = 86'400;
    if (wire <= 0) return std::nullopt;
    return std::chrono::seconds(std::min(wire, day_s));
}

void skip_spaces(std::string_view& text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

std::string_view take_word(std::string_view& text) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    skip_spaces(text);
    return word;
}

// A quoted-string with its escapes taken out; false if there is none.
bool take_quoted(std::string_view& text, std::string& out) {
    if (!text.starts_with('"')) return false;
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        out += text[i];
    }
    if (i >= text.size()) return false;
    text.remove_prefix(i + 1);
    skip_spaces(text);
    return true;
}

// One header can hold several: 299 - "a", 299 - "b" "date".
void read_values(std::string_view text, std::vector<std::string>& out) {
    while (out.size() < warnings_of_one_answer_max) {
        skip_spaces(text);
        const std::string_view code = take_word(text);
        take_word(text);  // the agent: "-"
        std::string said;
        std::string date;
        if (!take_quoted(text, said)) return;
        take_quoted(text, date);
        if (code == "299") out.push_back(base::one_line(said, warning_bytes_max));
        if (!text.starts_with(',')) return;
        text.remove_prefix(1);
    }
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
    const std::string_view text = said ? std::string_view(said->message) : trimmed(body.substr(0, 1024));
    if (is_unserved(http_status, text))
        return make(attempt, http_status, said ? said->reason : "", unserved_text, retry_after);
    if (!said) return make(attempt, http_status, {}, base::one_line(text, 200), retry_after);
    if (!retry_after && said->retry_after) retry_after = *said->retry_after;
    return make(attempt, http_status, said->reason, text_of(*said), retry_after);
}

base::error status_error(std::string_view attempt, const status& said) {
    std::optional<std::chrono::milliseconds> retry_after;
    if (said.retry_after) retry_after = *said.retry_after;
    return make(attempt, said.code, said.reason, text_of(said), retry_after);
}

base::result<status> read_status(std::string_view body) {
    if (body.size() > status_bytes_max) return base::fail(base::errc::too_large, "status: larger than 1 MiB");
    wire::status wire;
    if (const auto fault = glz::read<rules>(wire, body))
        return base::fail(base::errc::decode, "status: no JSON object of kind Status");
    if (wire.kind != "Status") return base::fail(base::errc::decode, "status: not of kind Status");
    status said;
    said.success = wire.status == "Success";
    said.code = wire.code;
    said.reason = std::move(wire.reason);
    said.message = std::move(wire.message);
    said.name = std::move(wire.details.name);
    said.kind = std::move(wire.details.kind);
    said.uid = std::move(wire.details.uid);
    said.retry_after = seconds_of(wire.details.retryAfterSeconds);
    said.causes = std::move(wire.details.causes);
    if (said.causes.size() > status_causes_max) said.causes.resize(status_causes_max);
    return said;
}

std::vector<std::string> read_warnings(const net::header_list& headers) {
    std::vector<std::string> found;
    for (const net::header& h : headers)
        if (h.name == "warning") read_values(h.value, found);
    return found;
}

void warning_log::note(const net::header_list& headers, std::string_view attempt) {
    if (net::find_header(headers, "warning").empty()) return;
    for (std::string& text : read_warnings(headers)) {
        if (seen_.size() >= warnings_remembered_max || seen_.contains(text)) continue;
        log_.warn("warning from the API server", {{"warning", text}, {"during", attempt}});
        seen_.insert(std::move(text));
        if (seen_.size() == warnings_remembered_max)
            log_.warn("too many different warnings from the API server: further ones are not logged");
    }
}

}  // namespace cotrain::kube
