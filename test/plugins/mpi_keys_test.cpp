// Keys that OpenSSH takes, made from whatever bytes come.
#include "plugins/keys.hpp"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "support/temp_dir.hpp"

namespace cotrain::plugins {
namespace {

byte_source all(unsigned char value) {
    return [value](std::span<unsigned char> out) {
        for (auto& b : out) b = value;
        return true;
    };
}

class scratch {
   public:
    [[nodiscard]] std::filesystem::path write(const char* name, const std::string& text) const {
        const std::filesystem::path file = place_.write(name, text);
        std::filesystem::permissions(file, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
        return file;
    }

   private:
    test::temp_dir place_;
};

std::string output_of(const std::string& command) {
    FILE* const pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) throw std::runtime_error("popen " + command);
    std::string text;
    char buffer[512];
    while (fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
    EXPECT_EQ(pclose(pipe), 0) << command << "\n" << text;
    return text;
}

TEST(mpi_keys, the_same_bytes_make_the_same_key) {
    const auto a = make_ssh_key(all(7));
    const auto b = make_ssh_key(all(7));
    const auto c = make_ssh_key(all(8));
    ASSERT_TRUE(a && b && c);
    EXPECT_EQ(a->private_pem, b->private_pem);
    EXPECT_EQ(a->public_line, b->public_line);
    EXPECT_NE(a->public_line, c->public_line);
}

TEST(mpi_keys, even_extreme_bytes_make_keys) {
    for (const unsigned char value : {0x00, 0xff}) {
        const auto key = make_ssh_key(all(value));
        ASSERT_TRUE(key) << key.error().message;
        EXPECT_TRUE(key->private_pem.starts_with("-----BEGIN EC PRIVATE KEY-----\n"));
        EXPECT_TRUE(key->private_pem.ends_with("-----END EC PRIVATE KEY-----\n"));
    }
}

// Small numbers keep their leading zeros: the text is always of the same form.
TEST(mpi_keys, are_written_as_openssl_writes_them) {
    for (const unsigned char value : {0x00, 0x07, 0xff}) {
        const auto key = make_ssh_key(all(value));
        ASSERT_TRUE(key) << key.error().message;
        const std::unique_ptr<BIO, decltype(&BIO_free_all)> in(BIO_new_mem_buf(key->private_pem.data(), -1),
                                                               BIO_free_all);
        const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> read(
            PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr), EVP_PKEY_free);
        ASSERT_NE(read, nullptr);
        const std::unique_ptr<BIO, decltype(&BIO_free_all)> out(BIO_new(BIO_s_mem()), BIO_free_all);
        ASSERT_EQ(PEM_write_bio_PrivateKey_traditional(out.get(), read.get(), nullptr, nullptr, 0, nullptr, nullptr),
                  1);
        char* text = nullptr;
        const long bytes = BIO_get_mem_data(out.get(), &text);
        EXPECT_EQ(std::string(text, static_cast<std::size_t>(bytes)), key->private_pem);
    }
}

TEST(mpi_keys, no_bytes_no_key) {
    const auto key = make_ssh_key([](std::span<unsigned char>) { return false; });
    ASSERT_FALSE(key);
    EXPECT_NE(key.error().message.find("no random bytes"), std::string::npos);
}

TEST(mpi_keys, openssh_reads_them) {
    const auto key = make_ssh_key(system_bytes());
    ASSERT_TRUE(key) << key.error().message;
    const scratch dir;
    const auto line = dir.write("id.pub", key->public_line).string();
    const std::string fingerprint = output_of("ssh-keygen -l -f " + line);
    EXPECT_NE(fingerprint.find("521 SHA256:"), std::string::npos) << fingerprint;
    EXPECT_NE(fingerprint.find("(ECDSA)"), std::string::npos) << fingerprint;
    // The public half that OpenSSH derives is the one we wrote.
    const auto pem = dir.write("id", key->private_pem).string();
    EXPECT_EQ(output_of("ssh-keygen -y -f " + pem), key->public_line);
}

TEST(encode, z85_as_its_rfc_shows) {
    EXPECT_EQ(z85("\x86\x4F\xD2\x6F\xB5\x59\xF7\x5B"), "HelloWorld");
    EXPECT_EQ(z85(""), "");
}

}  // namespace
}  // namespace cotrain::plugins
