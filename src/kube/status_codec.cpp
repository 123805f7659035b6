// Decoding of metav1.Status.
#include <algorithm>
#include <glaze/json/read.hpp>

#include "kube/status.hpp"

namespace cotrain::kube::wire {

// Every field is optional because the wire may leave it out or say null.
struct cause {
    std::optional<std::string> field;
    std::optional<std::string> message;
    std::optional<std::string> reason;
};

struct details {
    std::optional<std::string> name;
    std::optional<std::string> kind;
    std::optional<std::string> uid;
    std::optional<std::vector<cause>> causes;
    std::optional<std::int64_t> retryAfterSeconds;
};

struct status {
    std::optional<std::string> kind;
    std::optional<std::string> status;
    std::optional<std::string> message;
    std::optional<std::string> reason;
    std::optional<wire::details> details;
    std::optional<int> code;
};

}  // namespace cotrain::kube::wire

namespace cotrain::kube {

namespace {

constexpr glz::opts lenient{.null_terminated = false, .error_on_unknown_keys = false};

// A wait that does not fit is no wait at all: the peer is not to be trusted with our arithmetic.
std::optional<std::chrono::seconds> seconds_of(std::optional<std::int64_t> wire) {
    constexpr std::int64_t day_s = 86'400;
    if (!wire || *wire <= 0) return std::nullopt;
    return std::chrono::seconds(std::min(*wire, day_s));
}

std::string take(std::optional<std::string>& text) { return text ? std::move(*text) : std::string(); }

}  // namespace

base::result<status> read_status(std::string_view body) {
    if (body.size() > status_bytes_max) return base::fail(base::errc::too_large, "status: larger than 1 MiB");
    wire::status wire;
    if (const auto fault = glz::read<lenient>(wire, body))
        return base::fail(base::errc::decode, "status: no JSON object of kind Status");
    if (wire.kind != "Status") return base::fail(base::errc::decode, "status: not of kind Status");
    status said;
    said.success = wire.status == "Success";
    said.code = wire.code.value_or(0);
    said.reason = take(wire.reason);
    said.message = take(wire.message);
    if (!wire.details) return said;
    said.name = take(wire.details->name);
    said.kind = take(wire.details->kind);
    said.uid = take(wire.details->uid);
    said.retry_after = seconds_of(wire.details->retryAfterSeconds);
    if (!wire.details->causes) return said;
    for (wire::cause& cause : *wire.details->causes) {
        if (said.causes.size() == status_causes_max) break;
        said.causes.push_back({take(cause.field), take(cause.message), take(cause.reason)});
    }
    return said;
}

}  // namespace cotrain::kube
