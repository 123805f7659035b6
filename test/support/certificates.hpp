// Certificate authorities and certificates made in memory, for every test that speaks TLS. Needs OpenSSL only.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

struct evp_pkey_st;
struct x509_st;

namespace cotrain::test {

enum class key_kind { p256, rsa2048, brainpool };

struct certificate_options {
    std::string common_name{};
    std::vector<std::string> names{};      // DNS names
    std::vector<std::string> addresses{};  // IP addresses
    // Relative to now.
    std::chrono::seconds valid_from = -std::chrono::hours(1);
    std::chrono::seconds valid_until = std::chrono::hours(24);
    bool for_server = true;
    bool for_client = true;
    std::string organization{};
    key_kind key = key_kind::p256;
};

struct certificate {
    std::string certificate_pem;  // followed by intermediates, if it has any
    std::string key_pem;          // PKCS#8
    std::string sec1_key_pem;     // the same key in its older form (SEC1, or PKCS#1 for RSA)
};

// A root or an intermediate. Copies share the key.
class authority {
   public:
    explicit authority(std::string common_name = "test CA");

    // Throws std::runtime_error where OpenSSL fails: a test cannot go on.
    [[nodiscard]] certificate issue(const certificate_options& options) const;
    // An intermediate below this one; what it issues carries it as chain.
    [[nodiscard]] authority intermediate(std::string common_name) const;
    [[nodiscard]] const std::string& pem() const { return pem_; }

   private:
    authority(std::string common_name, const authority* parent);
    std::shared_ptr<evp_pkey_st> key_;
    std::shared_ptr<x509_st> certificate_;
    std::string pem_;
    std::string chain_pem_;  // from this one up to below the root; empty for a root
};

// One that signed itself.
[[nodiscard]] certificate self_signed(const certificate_options& options);

}  // namespace cotrain::test
