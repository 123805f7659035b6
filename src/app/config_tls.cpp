// The table of cipher suites that Go knows, and what they are called here.
#include "app/config_tls.hpp"

#include <algorithm>
#include <array>

namespace cotrain::app {

namespace {

struct suite {
    std::string_view go_name;
    std::string_view openssl_name;  // empty: TLS 1.3's, which are always on
    suite_standing standing;
};

constexpr auto good = suite_standing::good;
constexpr auto insecure = suite_standing::insecure;
constexpr auto dropped = suite_standing::dropped;

constexpr std::array suites{
    suite{"TLS_AES_128_GCM_SHA256", "", good},
    suite{"TLS_AES_256_GCM_SHA384", "", good},
    suite{"TLS_CHACHA20_POLY1305_SHA256", "", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384", "ECDHE-ECDSA-AES256-GCM-SHA384", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384", good},
    suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", good},
    suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305", good},
    // Go's older names of the two above.
    suite{"TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305", "ECDHE-ECDSA-CHACHA20-POLY1305", good},
    suite{"TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305", "ECDHE-RSA-CHACHA20-POLY1305", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA", "ECDHE-RSA-AES128-SHA", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA", "ECDHE-ECDSA-AES256-SHA", good},
    suite{"TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA", "ECDHE-RSA-AES256-SHA", good},
    suite{"TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256", insecure},
    suite{"TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256", "ECDHE-RSA-AES128-SHA256", insecure},
    suite{"TLS_RSA_WITH_AES_128_GCM_SHA256", "AES128-GCM-SHA256", insecure},
    suite{"TLS_RSA_WITH_AES_256_GCM_SHA384", "AES256-GCM-SHA384", insecure},
    suite{"TLS_RSA_WITH_AES_128_CBC_SHA256", "AES128-SHA256", insecure},
    suite{"TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA", insecure},
    suite{"TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA", insecure},
    suite{"TLS_RSA_WITH_RC4_128_SHA", "", dropped},
    suite{"TLS_RSA_WITH_3DES_EDE_CBC_SHA", "", dropped},
    suite{"TLS_ECDHE_ECDSA_WITH_RC4_128_SHA", "", dropped},
    suite{"TLS_ECDHE_RSA_WITH_RC4_128_SHA", "", dropped},
    suite{"TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "", dropped},
};

const suite* find(std::string_view go_name) {
    const auto found = std::ranges::find(suites, go_name, &suite::go_name);
    return found == suites.end() ? nullptr : &*found;
}

constexpr int tls_1_2 = 0x0303;
constexpr int tls_1_3 = 0x0304;

}  // namespace

suite_standing standing_of(std::string_view go_name) {
    const suite* const found = find(go_name);
    return found == nullptr ? suite_standing::unknown : found->standing;
}

std::string good_suites() {
    std::string names;
    for (const suite& each : suites) {
        if (each.standing != good || each.go_name.ends_with("_POLY1305")) continue;
        if (!names.empty()) names += ", ";
        names += each.go_name;
    }
    return names;
}

net::tls::server_options to_server_options(const tls_config& config) {
    net::tls::server_options out;
    out.alpn = config.next_protos;
    out.version_min = config.min_version == "1.3" ? tls_1_3 : tls_1_2;
    for (const std::string& name : config.cipher_suites) {
        const suite* const found = find(name);
        if (found == nullptr || found->openssl_name.empty()) continue;
        if (!out.tls12_ciphers.empty()) out.tls12_ciphers += ':';
        out.tls12_ciphers += found->openssl_name;
    }
    // A list without any suite for TLS 1.2 leaves TLS 1.3 alone.
    if (!config.cipher_suites.empty() && out.tls12_ciphers.empty()) out.version_min = tls_1_3;
    return out;
}

}  // namespace cotrain::app
