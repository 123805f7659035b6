// Memory limits of nested cgroups, as files say them.
#include "app/operator/process.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace cotrain::app {
namespace {

constexpr std::uint64_t mib = 1U << 20U;
constexpr std::uint64_t physical = 8192 * mib;

class memory_limit_test : public testing::Test {
   protected:
    memory_limit_test() : root_(testing::TempDir() + "/memory_limit_" + std::to_string(::getpid())) {
        std::filesystem::remove_all(root_);
    }
    ~memory_limit_test() override { std::filesystem::remove_all(root_); }

    void file(const std::string& path, const std::string& text) const {
        std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
        std::ofstream(root_ + path) << text;
    }
    [[nodiscard]] std::uint64_t limit() const { return memory_limit(root_, physical); }

    std::string root_;
};

TEST_F(memory_limit_test, without_cgroups_it_is_the_machines_memory) { EXPECT_EQ(limit(), physical); }

TEST_F(memory_limit_test, the_smallest_limit_of_all_groups_above_counts) {
    file("/proc/self/cgroup", "0::/kubepods/pod1/container\n");
    file("/sys/fs/cgroup/kubepods/memory.max", std::to_string(4096 * mib) + "\n");
    file("/sys/fs/cgroup/kubepods/pod1/memory.max", std::to_string(256 * mib) + "\n");
    file("/sys/fs/cgroup/kubepods/pod1/container/memory.max", "max\n");
    EXPECT_EQ(limit(), 256 * mib);
    file("/sys/fs/cgroup/kubepods/memory.max", std::to_string(128 * mib) + "\n");
    EXPECT_EQ(limit(), 128 * mib);
}

TEST_F(memory_limit_test, in_a_namespace_of_its_own_the_root_is_the_containers_group) {
    file("/proc/self/cgroup", "0::/\n");
    file("/sys/fs/cgroup/memory.max", std::to_string(256 * mib) + "\n");
    EXPECT_EQ(limit(), 256 * mib);
}

TEST_F(memory_limit_test, version_1_with_the_hosts_path) {
    file("/proc/self/cgroup", "7:cpu,cpuacct:/kubepods/a\n4:hugetlb,memory:/kubepods/a\n1:name=systemd:/kubepods/a\n");
    file("/sys/fs/cgroup/memory/memory.limit_in_bytes", std::to_string(512 * mib) + "\n");
    EXPECT_EQ(limit(), 512 * mib);
    file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    EXPECT_EQ(limit(), physical);
}

TEST_F(memory_limit_test, what_is_no_number_sets_no_limit) {
    file("/proc/self/cgroup", "0::/a\nnonsense\n::\n0:\n");
    for (const char* text : {"", "max", "-1", "0", "99999999999999999999999999", "abc"}) {
        file("/sys/fs/cgroup/a/memory.max", text);
        EXPECT_EQ(limit(), physical) << text;
    }
}

TEST(memory_limit, of_this_process_is_known) { EXPECT_GT(memory_limit(), 16 * mib); }

}  // namespace
}  // namespace cotrain::app
