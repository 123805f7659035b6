// JSON web tokens of service accounts (RFC 7519): what they claim, who signed them. Pure; time is passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace cotrain::serve {

inline constexpr std::size_t token_bytes_max = 16U << 10U;
inline constexpr std::size_t published_keys_max = 64;
inline constexpr std::size_t key_bits_max = 8192;
inline constexpr std::size_t audiences_max = 64;
// How far the issuer's clock may be ahead of ours.
inline constexpr std::chrono::seconds clock_skew_max{60};

struct token_claims {
    std::string issuer;
    std::string ns;   // kubernetes.io's namespace …
    std::string pod;  // … and the name of the Pod it was made for; empty: for none
    std::vector<std::string> audiences;
    std::int64_t expires = 0;  // seconds since 1970
    std::int64_t not_before = 0;
    std::int64_t issued = 0;
};

// The signatures that Kubernetes makes; "none" and the symmetric ones are not among them.
enum class signature_kind : std::uint8_t { rs256, es256, es384, es512 };

// A token taken apart. Nothing in it is to be believed before key_set::verify().
struct token {
    signature_kind kind{};
    std::string key_id;
    std::string signed_text;
    std::string signature;
    token_claims claims;
};
[[nodiscard]] base::result<token> read_token(std::string_view text);

// What a token must say.
struct token_demands {
    std::string_view issuer;
    std::string_view audience;
    std::string_view ns;
};
[[nodiscard]] base::result<> check_claims(const token_claims& claims, const token_demands& demands,
                                          std::chrono::sys_seconds now);

// The issuer's published keys (RFC 7517).
class key_set {
   public:
    key_set();
    key_set(key_set&&) noexcept;
    key_set& operator=(key_set&&) noexcept;
    ~key_set();

    // Keys of other kinds and uses are passed over.
    [[nodiscard]] static base::result<key_set> read(std::string_view json);

    [[nodiscard]] bool knows(std::string_view key_id) const;
    [[nodiscard]] std::size_t size() const;
    // Whether one of the keys made the signature: the one the token names, of the kind the algorithm needs.
    [[nodiscard]] bool verify(const token& t) const;

   private:
    struct key;
    std::vector<key> keys_;
};

}  // namespace cotrain::serve
