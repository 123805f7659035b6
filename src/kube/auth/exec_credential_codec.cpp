// Decoding of a plugin's ExecCredential.
#include <fmt/format.h>

#include <glaze/json/read.hpp>

#include "api/time.hpp"
#include "kube/auth/exec_credential.hpp"
#include "kube/header_text.hpp"

namespace cotrain::kube::auth::wire {

using text = std::optional<std::string>;

struct credential_status {
    text token;
    text clientCertificateData;
    text clientKeyData;
    text expirationTimestamp;
};

struct credential {
    text kind;
    text apiVersion;
    std::optional<credential_status> status;
};

}  // namespace cotrain::kube::auth::wire

namespace cotrain::kube::auth {

namespace {

constexpr glz::opts lenient{.null_terminated = false, .error_on_unknown_keys = false};

std::unexpected<base::error> refuse(std::string what) {
    return base::fail(base::errc::auth, "its output " + std::move(what));
}

std::string take(wire::text& text) { return text ? std::move(*text) : std::string(); }

base::result<exec_credential> check(wire::credential_status& status) {
    exec_credential out{take(status.token), take(status.clientCertificateData), take(status.clientKeyData), {}};
    if (out.certificate_pem.empty() != out.key_pem.empty())
        return refuse("has only one of clientCertificateData and clientKeyData");
    if (out.token.empty() && out.certificate_pem.empty())
        return refuse("has neither a token nor a client certificate in its status");
    if (!visible_ascii(out.token)) return refuse("has a token with bytes that no token has");
    if (const std::string when = take(status.expirationTimestamp); !when.empty()) {
        out.expires = api::parse_time_seconds(when);
        if (!out.expires)
            return refuse(fmt::format("has an expirationTimestamp that is no time: {}", base::one_line(when, 64)));
    }
    return out;
}

}  // namespace

base::result<exec_credential> read_exec_credential(std::string_view body, std::string_view api_version) {
    wire::credential wire;
    if (const auto fault = glz::read<lenient>(wire, body)) {
        // What failed to decode may hold a token: it is not quoted.
        return refuse(fmt::format("is not an ExecCredential in JSON ({} bytes)", body.size()));
    }
    if (wire.kind != "ExecCredential") return refuse("is not of kind ExecCredential");
    if (wire.apiVersion != api_version)
        return refuse(fmt::format("is of apiVersion {}, but the kubeconfig asks for {}",
                                  base::one_line(take(wire.apiVersion), 80), api_version));
    if (!wire.status) return refuse("has no status");
    return check(*wire.status);
}

}  // namespace cotrain::kube::auth
