// Taking tokens apart and judging what they claim.
#include "serve/jwt.hpp"

#include <algorithm>
#include <array>

#include "api/json.hpp"
#include "serve/base64url.hpp"

namespace cotrain::serve {

namespace {

using api::ref;

constexpr std::size_t json_bytes_max = 16U << 10U;
constexpr unsigned json_depth_max = 16;

struct algorithm {
    std::string_view name;
    signature_kind kind;
};
constexpr std::array algorithms{
    algorithm{"RS256", signature_kind::rs256},
    algorithm{"ES256", signature_kind::es256},
    algorithm{"ES384", signature_kind::es384},
    algorithm{"ES512", signature_kind::es512},
};

std::unexpected<base::error> refuse(std::string why) {
    return base::fail(base::errc::auth, "token: " + std::move(why));
}

base::result<> read_header(std::string_view text, token& out) {
    api::arena memory;
    const auto header = api::parse_json(memory, text, {json_bytes_max, json_depth_max});
    if (!header || !header->is_object()) return refuse("its header is no JSON object");
    if (header->contains("crit")) return refuse("it demands extensions that are not known");
    const auto name = header->get("alg").as_string();
    const auto found = std::ranges::find(algorithms, name, &algorithm::name);
    if (found == algorithms.end()) return refuse("algorithm '" + base::one_line(name, 20) + "' is not taken");
    out.kind = found->kind;
    out.key_id = header->get("kid").as_string();
    return {};
}

// A point in time may have a fraction.
std::optional<std::int64_t> read_time(ref at) {
    const auto number = at.is_number() ? at.as_double() : std::nullopt;
    if (!number || !(*number >= 0) || !(*number <= 1e12)) return std::nullopt;
    return static_cast<std::int64_t>(*number);
}

base::result<> read_claims(std::string_view text, token_claims& out) {
    api::arena memory;
    const auto claims = api::parse_json(memory, text, {json_bytes_max, json_depth_max});
    if (!claims || !claims->is_object()) return refuse("its claims are no JSON object");
    out.issuer = claims->get("iss").as_string();
    out.ns = claims->get({"kubernetes.io", "namespace"}).as_string();
    out.pod = claims->get({"kubernetes.io", "pod", "name"}).as_string();
    const ref audience = claims->get("aud");
    if (audience.is_string()) out.audiences.emplace_back(audience.as_string());
    if (audience.size() > audiences_max) return refuse("it has too many audiences");
    for (const ref each : audience.items()) out.audiences.emplace_back(each.as_string());
    const auto expires = read_time(claims->get("exp"));
    if (!expires) return refuse("it does not say when it expires");
    out.expires = *expires;
    for (const auto& [name, time] : {std::pair{"nbf", &token_claims::not_before}, {"iat", &token_claims::issued}}) {
        const ref from = claims->get(name);
        if (from.is_unset()) continue;
        const auto begin = read_time(from);
        if (!begin) return refuse("its " + std::string(name) + " is no time");
        out.*time = *begin;
    }
    return {};
}

}  // namespace

base::result<token> read_token(std::string_view text) {
    if (text.size() > token_bytes_max) return refuse("it is larger than 16 KiB");
    const auto first = text.find('.');
    const auto second = first == std::string_view::npos ? first : text.find('.', first + 1);
    if (second == std::string_view::npos || text.find('.', second + 1) != std::string_view::npos)
        return refuse("it has not three parts");
    const auto header = decode_base64url(text.substr(0, first));
    const auto claims = decode_base64url(text.substr(first + 1, second - first - 1));
    auto signature = decode_base64url(text.substr(second + 1));
    if (!header || !claims || !signature) return refuse("it is not base64");
    token out;
    if (auto ok = read_header(*header, out); !ok) return std::unexpected(std::move(ok.error()));
    if (auto ok = read_claims(*claims, out.claims); !ok) return std::unexpected(std::move(ok.error()));
    out.signed_text = text.substr(0, second);
    out.signature = std::move(*signature);
    return out;
}

base::result<> check_claims(const token_claims& claims, const token_demands& demands, std::chrono::sys_seconds now) {
    const std::int64_t at = now.time_since_epoch().count();
    if (demands.issuer.empty() || claims.issuer != demands.issuer) return refuse("it is from another issuer");
    if (demands.audience.empty() || std::ranges::find(claims.audiences, demands.audience) == claims.audiences.end())
        return refuse("it is for another audience");
    if (demands.ns.empty() || claims.ns != demands.ns) return refuse("it is from another namespace");
    if (at >= claims.expires) return refuse("it has expired");
    if (at + clock_skew_max.count() < claims.not_before) return refuse("it is not valid yet");
    return {};
}

}  // namespace cotrain::serve
