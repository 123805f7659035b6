// Tokens and published keys as an issuer would make them, for tests of whoever verifies.
#pragma once

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace cotrain::serve {

inline std::string base64url(std::string_view bytes) {
    constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string out;
    unsigned bits = 0;
    unsigned have = 0;
    for (const char c : bytes) {
        bits = bits << 8U | static_cast<unsigned char>(c);
        have += 8;
        while (have >= 6) out += alphabet[bits >> (have -= 6) & 63U];
        bits &= (1U << have) - 1U;
    }
    if (have != 0) out += alphabet[bits << (6 - have) & 63U];
    return out;
}

// One signing key.
class test_signer {
   public:
    // "RS256", "ES256", "ES384" or "ES512".
    explicit test_signer(std::string algorithm, std::string id = "key-1")
        : algorithm_(std::move(algorithm)), id_(std::move(id)), key_(make(algorithm_), EVP_PKEY_free) {
        if (!key_) throw std::runtime_error("no key");
    }

    [[nodiscard]] std::string sign(std::string_view header, std::string_view claims) const {
        const std::string text = base64url(header) + "." + base64url(claims);
        return text + "." + base64url(signature(text));
    }
    [[nodiscard]] std::string sign(std::string_view claims) const {
        return sign(R"({"alg":")" + algorithm_ + R"(","kid":")" + id_ + R"("})", claims);
    }
    // With the signature of a curve as OpenSSL writes it, not as tokens carry it.
    [[nodiscard]] std::string sign_der(std::string_view header, std::string_view claims) const {
        const std::string text = base64url(header) + "." + base64url(claims);
        return text + "." + base64url(signature(text, false));
    }
    // As one entry of the issuer's list.
    [[nodiscard]] std::string jwk() const {
        const std::string head = R"({"use":"sig","kid":")" + id_ + R"(","alg":")" + algorithm_ + R"(",)";
        if (algorithm_ == "RS256") {
            return head + R"("kty":"RSA","n":")" + number(OSSL_PKEY_PARAM_RSA_N, 0) + R"(","e":")" +
                   number(OSSL_PKEY_PARAM_RSA_E, 0) + R"("})";
        }
        return head + R"("kty":"EC","crv":")" + curve() + R"(","x":")" + number(OSSL_PKEY_PARAM_EC_PUB_X, size()) +
               R"(","y":")" + number(OSSL_PKEY_PARAM_EC_PUB_Y, size()) + R"("})";
    }
    [[nodiscard]] std::string keys() const { return R"({"keys":[)" + jwk() + "]}"; }

   private:
    static EVP_PKEY* make(const std::string& algorithm) {
        if (algorithm == "RS256") return EVP_RSA_gen(2048U);
        if (algorithm == "ES256") return EVP_EC_gen("P-256");
        return EVP_EC_gen(algorithm == "ES384" ? "P-384" : "P-521");
    }
    [[nodiscard]] std::string curve() const {
        return algorithm_ == "ES256" ? "P-256" : algorithm_ == "ES384" ? "P-384" : "P-521";
    }
    [[nodiscard]] int size() const { return algorithm_ == "ES256" ? 32 : algorithm_ == "ES384" ? 48 : 66; }
    [[nodiscard]] static std::string bytes_of(const BIGNUM* n, int size) {
        std::string out(static_cast<std::size_t>(size > 0 ? size : BN_num_bytes(n)), '\0');
        BN_bn2binpad(n, reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(out.size()));
        return out;
    }
    [[nodiscard]] std::string number(const char* name, int padded) const {
        BIGNUM* n = nullptr;
        if (EVP_PKEY_get_bn_param(key_.get(), name, &n) != 1) throw std::runtime_error(name);
        std::string out = base64url(bytes_of(n, padded));
        BN_free(n);
        return out;
    }
    [[nodiscard]] std::string signature(const std::string& text, bool raw_parts = true) const {
        const EVP_MD* digest = algorithm_ == "ES384"   ? EVP_sha384()
                               : algorithm_ == "ES512" ? EVP_sha512()
                                                       : EVP_sha256();
        EVP_MD_CTX* context = EVP_MD_CTX_new();
        const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
        std::size_t length = 0;
        EVP_DigestSignInit(context, nullptr, digest, nullptr, key_.get());
        EVP_DigestSign(context, nullptr, &length, bytes, text.size());
        std::string out(length, '\0');
        EVP_DigestSign(context, reinterpret_cast<unsigned char*>(out.data()), &length, bytes, text.size());
        out.resize(length);
        EVP_MD_CTX_free(context);
        if (algorithm_ == "RS256" || !raw_parts) return out;
        const auto* der = reinterpret_cast<const unsigned char*>(out.data());
        ECDSA_SIG* parts = d2i_ECDSA_SIG(nullptr, &der, static_cast<long>(out.size()));
        std::string raw = bytes_of(ECDSA_SIG_get0_r(parts), size()) + bytes_of(ECDSA_SIG_get0_s(parts), size());
        ECDSA_SIG_free(parts);
        return raw;
    }

    std::string algorithm_;
    std::string id_;
    std::shared_ptr<EVP_PKEY> key_;
};

}  // namespace cotrain::serve
