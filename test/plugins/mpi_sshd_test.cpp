// The keys as they are mounted: a real ssh logs in to a real sshd with them, and with no others.
#include <gtest/gtest.h>
#include <pwd.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/mpi_keys.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::plugins {
namespace {

namespace fs = std::filesystem;

// sshd wants to be called by its whole path.
std::string find_sshd() {
    std::string folders = getenv("PATH") == nullptr ? "" : getenv("PATH");
    folders += ":/usr/sbin:/usr/local/sbin";
    for (std::size_t at = 0; at <= folders.size();) {
        const std::size_t end = std::min(folders.find(':', at), folders.size());
        const std::string file = folders.substr(at, end - at) + "/sshd";
        if (file.front() == '/' && access(file.c_str(), X_OK) == 0) return file;
        at = end + 1;
    }
    throw std::runtime_error("there is no sshd: install openssh-server (tools/dev/setup.sh does)");
}

// Keys, host key and what sshd needs besides, gone with the test.
class node {
   public:
    node() : sshd_(find_sshd()) {
        // The directory that sshd locks its unprivileged part into; service managers make it.
        if (geteuid() == 0) made_ = fs::create_directory(chroot_);
        run("ssh-keygen -q -t ed25519 -N '' -f " + path("host_key"));
    }
    ~node() {
        std::error_code ignored;
        if (made_) fs::remove(chroot_, ignored);
    }
    node(const node&) = delete;
    node& operator=(const node&) = delete;

    void write(const char* name, std::string_view text) const {
        dir_.write(name, std::string(text));
        fs::permissions(path(name), fs::perms::owner_read | fs::perms::owner_write);
    }

    // Exit code and output of `command` run on the node. ssh talks to sshd through pipes: no port is opened.
    [[nodiscard]] std::pair<int, std::string> ssh(const std::string& command) const {
        const std::string server = sshd_ + " -i -f /dev/null -h " + path("host_key") +
                                   " -o AuthorizedKeysFile=" + path("authorized_keys") +
                                   " -o StrictModes=no -o UsePAM=no -o PidFile=none -o PasswordAuthentication=no"
                                   " -o KbdInteractiveAuthentication=no -o PermitRootLogin=prohibit-password";
        return run("ssh -F none -i " + path("id_rsa") +
                   " -o IdentitiesOnly=yes -o IdentityAgent=none -o BatchMode=yes -o UserKnownHostsFile=/dev/null"
                   " -o StrictHostKeyChecking=no -o LogLevel=ERROR -o ProxyCommand='" +
                   server + "' " + getpwuid(geteuid())->pw_name + "@node " + command + " 2>&1");
    }

   private:
    [[nodiscard]] std::string path(const char* name) const { return dir_.path(name); }

    static std::pair<int, std::string> run(const std::string& command) {
        FILE* const pipe = popen(command.c_str(), "r");
        if (pipe == nullptr) throw std::runtime_error("popen " + command);
        std::string text;
        char buffer[512];
        while (fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
        const int status = pclose(pipe);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
    }

    static inline const fs::path chroot_ = "/run/sshd";
    std::string sshd_;
    test::temp_dir dir_;
    bool made_ = false;
};

TEST(mpi_keys, log_in_to_a_real_sshd) {
    const auto key = make_ssh_key(system_bytes());
    const auto other = make_ssh_key(system_bytes());
    ASSERT_TRUE(key && other);
    const node there;
    there.write("id_rsa", key->private_pem);
    there.write("authorized_keys", key->public_line);
    const auto [code, text] = there.ssh("echo logged in");
    EXPECT_EQ(code, 0) << text;
    EXPECT_EQ(text, "logged in\n");

    there.write("authorized_keys", other->public_line);
    const auto [refused, why] = there.ssh("echo logged in");
    EXPECT_EQ(refused, 255) << why;
    EXPECT_TRUE(why.contains("Permission denied")) << why;
}

}  // namespace
}  // namespace cotrain::plugins
