// OpenSSL's secure memory: keys are in it, and a connection takes little of it.
#include "net/tls/context.hpp"

#include <gtest/gtest.h>
#include <openssl/bn.h>
#include <openssl/crypto.h>

#include <memory>
#include <vector>

#include "net/tls/pem.hpp"
#include "net/tls_defaults.hpp"

namespace cotrain::net::tls {
namespace {

// Once for all tests of the program, as in the operator.
const bool used = use_secure_memory();

TEST(secure_memory, holds_the_numbers_of_private_keys) {
    ASSERT_TRUE(used);
    const std::size_t before = CRYPTO_secure_used();
    const auto key = read_key(test_keys::get().server.key_pem, "key");
    ASSERT_TRUE(key);
    EXPECT_GT(CRYPTO_secure_used(), before);
}

TEST(secure_memory, is_enough_for_thousands_of_connections) {
    ASSERT_TRUE(used);
    constexpr std::size_t connections = 50;
    const context_ptr server = server_keys();
    std::vector<std::unique_ptr<tls_pair>> pairs;
    const std::size_t before = CRYPTO_secure_used();
    for (std::size_t i = 0; i < connections; ++i) {
        pairs.push_back(std::make_unique<tls_pair>(client_keys(i % 2 == 0 ? tls12 : tls13), server));
        ASSERT_TRUE(pairs.back()->connected());
    }
    // Both ends are here.
    const std::size_t each = (CRYPTO_secure_used() - before) / connections;
    EXPECT_LE(each, 2 * secure_bytes_of_connection_max);
    EXPECT_GE(secure_bytes / secure_bytes_of_connection_max, 8192U);
    pairs.clear();
    EXPECT_LE(CRYPTO_secure_used(), before + secure_bytes_of_connection_max) << "given back";
}

}  // namespace
}  // namespace cotrain::net::tls
