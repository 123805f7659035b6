// OpenSSH takes the keys as they are mounted: what one signs, the other verifies, and no other key does. Logins through
// a real sshd are part of ./dev e2e.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>

#include "plugins/keys.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::plugins {
namespace {

namespace fs = std::filesystem;

// The files of one job, and ssh-keygen at work on them.
class key_files {
   public:
    void write(const char* name, std::string_view text) const {
        dir_.write(name, std::string(text));
        fs::permissions(path(name), fs::perms::owner_read | fs::perms::owner_write);
    }
    [[nodiscard]] std::string path(const char* name) const { return dir_.path(name); }

    // Exit code and output.
    static std::pair<int, std::string> run(const std::string& command) {
        FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
        if (pipe == nullptr) throw std::runtime_error("popen " + command);
        std::string text;
        char buffer[512];
        while (fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
        const int status = pclose(pipe);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
    }

    [[nodiscard]] std::pair<int, std::string> verify(std::string_view public_line) const {
        write("signers", "launcher " + std::string(public_line));
        return run("ssh-keygen -Y verify -f " + path("signers") + " -I launcher -n login -s " + path("hello.sig") +
                   " <" + path("hello"));
    }

   private:
    test::temp_dir dir_;
};

TEST(mpi_keys, openssh_signs_with_the_private_key_and_verifies_with_the_public_one_alone) {
    const auto key = make_ssh_key(system_bytes());
    const auto other = make_ssh_key(system_bytes());
    ASSERT_TRUE(key && other);
    const key_files files;
    files.write("id_rsa", key->private_pem);
    files.write("id_rsa.pub", key->public_line);
    files.write("hello", "hello\n");
    const auto [signed_code, signed_text] =
        key_files::run("ssh-keygen -Y sign -f " + files.path("id_rsa") + " -n login " + files.path("hello"));
    ASSERT_EQ(signed_code, 0) << signed_text;

    const auto [code, text] = files.verify(key->public_line);
    EXPECT_EQ(code, 0) << text;
    const auto [refused, why] = files.verify(other->public_line);
    EXPECT_NE(refused, 0) << why;
}

}  // namespace
}  // namespace cotrain::plugins
