// Tokens: only what the issuer signed, for this job, from its namespace, at this time.
#include "serve/jwt.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/encoding.hpp"
#include "serve/tokens.hpp"

namespace cotrain::serve {
namespace {

using testing::HasSubstr;

constexpr std::chrono::sys_seconds now{std::chrono::seconds(1'800'000'000)};
constexpr token_demands demands{.issuer = "https://issuer", .audience = "job", .ns = "team"};
constexpr std::string_view good_claims =
    R"({"iss":"https://issuer","aud":["other","job"],"exp":1800000100,"nbf":1799999900,)"
    R"("kubernetes.io":{"namespace":"team"}})";

const test_signer& rsa() {
    static const test_signer one("RS256");
    return one;
}

// Empty when the token passes everything.
std::string trouble(const std::string& text, const key_set& keys) {
    const auto t = read_token(text);
    if (!t) return t.error().message;
    if (const auto ok = check_claims(t->claims, demands, now); !ok) return ok.error().message;
    return keys.verify(*t) ? "" : "signature";
}

std::string trouble(const std::string& text, const std::string& keys) {
    const auto set = key_set::read(keys);
    return set ? trouble(text, *set) : set.error().message;
}

TEST(jwt, every_algorithm_that_kubernetes_signs_with) {
    for (const char* algorithm : {"RS256", "ES256", "ES384", "ES512"}) {
        const test_signer signer(algorithm);
        EXPECT_EQ(trouble(signer.sign(good_claims), signer.keys()), "") << algorithm;
        EXPECT_EQ(trouble(signer.sign(good_claims), test_signer(algorithm).keys()), "signature") << algorithm;
    }
}

TEST(jwt, no_bit_may_change) {
    const std::string token = rsa().sign(good_claims);
    const key_set keys = *key_set::read(rsa().keys());
    EXPECT_EQ(trouble(token, keys), "");
    for (std::size_t at = 0; at < token.size(); at += 7) {
        std::string forged = token;
        forged[at] = forged[at] == 'A' ? 'B' : 'A';
        EXPECT_NE(trouble(forged, keys), "") << at;
    }
    for (std::size_t size = 0; size < token.size(); ++size) ASSERT_NE(trouble(token.substr(0, size), keys), "") << size;
}

TEST(jwt, other_algorithms_are_not_taken) {
    for (const char* name : {"none", "None", "NONE", "", "HS256", "HS512", "PS256", "RS1", "EdDSA"}) {
        const std::string header = std::string(R"({"alg":")") + name + R"(","kid":"key-1"})";
        EXPECT_THAT(trouble(rsa().sign(header, good_claims), rsa().keys()), HasSubstr("is not taken")) << name;
        EXPECT_NE(trouble(base64url(header) + "." + base64url(good_claims) + ".", rsa().keys()), "") << name;
    }
    EXPECT_THAT(trouble(rsa().sign(R"({"kid":"key-1"})", good_claims), rsa().keys()), HasSubstr("is not taken"));
    EXPECT_THAT(trouble(rsa().sign(R"({"alg":"RS256","crit":["x"]})", good_claims), rsa().keys()),
                HasSubstr("extensions"));
}

TEST(jwt, an_algorithm_does_not_borrow_another_ones_key) {
    const test_signer ec("ES256");
    EXPECT_EQ(trouble(rsa().sign(R"({"alg":"ES256","kid":"key-1"})", good_claims), rsa().keys()), "signature");
    EXPECT_EQ(trouble(ec.sign(R"({"alg":"RS256","kid":"key-1"})", good_claims), ec.keys()), "signature");
    EXPECT_EQ(trouble(ec.sign(R"({"alg":"ES384","kid":"key-1"})", good_claims), ec.keys()), "signature");
    EXPECT_EQ(trouble(ec.sign_der(R"({"alg":"RS256","kid":"key-1"})", good_claims), ec.keys()), "signature");
    EXPECT_EQ(trouble(ec.sign_der(R"({"alg":"ES256","kid":"key-1"})", good_claims), ec.keys()), "signature");
}

TEST(jwt, the_named_key_signs_or_nobody_does) {
    const test_signer second("RS256", "key-2");
    const std::string both = R"({"keys":[)" + rsa().jwk() + "," + second.jwk() + "]}";
    EXPECT_EQ(trouble(second.sign(good_claims), both), "");
    EXPECT_EQ(trouble(second.sign(R"({"alg":"RS256","kid":"key-1"})", good_claims), both), "signature");
    EXPECT_EQ(trouble(second.sign(R"({"alg":"RS256","kid":"key-3"})", good_claims), both), "signature");
    EXPECT_EQ(trouble(second.sign(R"({"alg":"RS256"})", good_claims), both), "") << "without a name all are tried";
}

TEST(jwt, claims_are_held_to_what_is_demanded) {
    const auto with = [](const char* claims) { return trouble(rsa().sign(claims), rsa().keys()); };
    EXPECT_THAT(with(R"({"iss":"https://other","aud":"job","exp":1800000100,"kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("another issuer"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"jobs","exp":1800000100,"kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("another audience"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":[],"exp":1800000100,"kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("another audience"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"job","exp":1800000100,"kubernetes.io":{"namespace":"x"}})"),
                HasSubstr("another namespace"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"job","exp":1800000100})"), HasSubstr("another namespace"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"job","exp":1800000000,"kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("expired"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"job","kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("when it expires"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"job","exp":"1900000000","kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("when it expires"));
    EXPECT_THAT(with(R"({"iss":"https://issuer","aud":"job","exp":1800000100,"nbf":1800000061,)"
                     R"("kubernetes.io":{"namespace":"team"}})"),
                HasSubstr("not valid yet"));
    EXPECT_EQ(with(R"({"iss":"https://issuer","aud":"job","exp":1800000100.5,"nbf":1800000060,)"
                   R"("kubernetes.io":{"namespace":"team"}})"),
              "");
    EXPECT_THAT(with("[]"), HasSubstr("no JSON object"));
}

TEST(jwt, what_is_no_token_is_refused) {
    for (const char* text : {"", ".", "..", "a.b.c", "....", "e30.e30.", "e30.e30.e30.e30", "=.=.="})
        EXPECT_FALSE(read_token(text)) << text;
    EXPECT_FALSE(read_token(std::string(token_bytes_max + 1, 'a')));
}

TEST(jwt, keys_that_cannot_be_used_are_passed_over) {
    const auto read = [](const std::string& entry) { return key_set::read(R"({"keys":[)" + entry + "]}")->size(); };
    EXPECT_EQ(read(rsa().jwk()), 1U);
    EXPECT_EQ(read(R"({"kty":"oct","k":"c2VjcmV0","kid":"a"})"), 0U);
    EXPECT_EQ(read(R"({"kty":"RSA","n":"AQAB","e":"AQAB"})"), 0U) << "too short";
    EXPECT_EQ(read(R"({"kty":"RSA","n":"","e":""})"), 0U);
    EXPECT_EQ(read(R"({"kty":"EC","crv":"P-256","x":"AA","y":"AA"})"), 0U);
    EXPECT_EQ(read(R"({"kty":"EC","crv":"P-256","x":")" + base64url(std::string(32, 'x')) + R"(","y":")" +
                   base64url(std::string(32, 'y')) + R"("})"),
              0U)
        << "not on the curve";
    std::string enc = rsa().jwk();
    enc.replace(enc.find("\"sig\""), 5, "\"enc\"");
    EXPECT_EQ(read(enc), 0U);
    EXPECT_FALSE(key_set::read("{}"));
    EXPECT_FALSE(key_set::read("x"));
    EXPECT_TRUE(key_set::read(rsa().keys())->knows("key-1"));
}

TEST(base64url, one_spelling_for_each_run_of_bytes) {
    EXPECT_EQ(base::decode_base64url(""), "");
    EXPECT_EQ(base::decode_base64url("_-8"), "\xff\xef");
    EXPECT_EQ(base::decode_base64url("YWJj"), "abc");
    for (const char* wrong : {"A", "YR", "YWK", "YQ==", "a b", "+/", "YWJjA"})
        EXPECT_EQ(base::decode_base64url(wrong), std::nullopt) << wrong;
}

}  // namespace
}  // namespace cotrain::serve
