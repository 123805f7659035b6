// The playground's options, and files that only their owner may read.
#include "playground/playground.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "playground/private_file.hpp"

namespace cotrain::playground {
namespace {

base::result<playground_options> read(std::vector<std::string_view> words) { return read_playground_options(words); }

TEST(playground, reads_options) {
    const auto all = read({"--port", "1234", "--page-port=0", "--no-operator", "--kubeconfig", "k", "--snapshot=s",
                           "--script", "run 3s, fail", "--faults", "once * * drop", "--verbose"});
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(all->port, 1234);
    EXPECT_FALSE(all->with_operator);
    EXPECT_EQ(all->kubeconfig, "k");
    EXPECT_EQ(all->snapshot, "s");
    EXPECT_EQ(all->script.run, std::chrono::seconds(3));
    EXPECT_EQ(all->faults.size(), 1U);
    EXPECT_TRUE(all->verbose);
}

TEST(playground, names_the_option_that_is_wrong) {
    const auto error = [](std::vector<std::string_view> words) {
        const auto done = read(std::move(words));
        return done ? std::string() : done.error().message;
    };
    EXPECT_EQ(error({"--port", "70000"}), "--port: '70000' is no port; 0 to 65535, 0 is any free one");
    EXPECT_EQ(error({"--port"}), "--port: needs a value");
    EXPECT_EQ(error({"--what"}), "unknown option '--what'; --help lists them");
    EXPECT_EQ(error({"what"}), "unknown option 'what'; --help lists them");
    EXPECT_TRUE(error({"--script", "jump"}).starts_with("--script: script: 'jump' is unknown"));
    EXPECT_TRUE(error({"--faults", "* * jump"}).starts_with("--faults: faults, line 1: 'jump' is no action"));
    EXPECT_NE(error({"--faults", "@/nowhere"}).find("/nowhere"), std::string::npos);
}

TEST(playground, claims_a_file_under_all_its_names) {
    const std::string path = "cotrain-claimed-" + std::to_string(::getpid());
    {
        file_claim first, second, other;
        EXPECT_TRUE(first.take(path));
        EXPECT_FALSE(second.take("./" + path));
        EXPECT_FALSE(second.take(std::filesystem::absolute(path).string()));
        EXPECT_TRUE(other.take(path + "-2"));
    }
    file_claim again;
    EXPECT_TRUE(again.take(path)) << "what is not there any more";
    EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(playground, keeps_files_private_and_takes_them_away) {
    const std::string path =
        (std::filesystem::temp_directory_path() / ("cotrain-private-" + std::to_string(::getpid()))).string();
    {
        temporary_file file;
        ASSERT_TRUE(file.write(path, "secret"));
        struct stat is{};
        ASSERT_EQ(::stat(path.c_str(), &is), 0);
        EXPECT_EQ(is.st_mode & 0777, 0600U);
        std::string text;
        std::ifstream(path) >> text;
        EXPECT_EQ(text, "secret");
    }
    EXPECT_FALSE(std::filesystem::exists(path));
    const auto failed = write_private_file("/nowhere/at/all", "x");
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().message, "write /nowhere/at/all: No such file or directory");
}

}  // namespace
}  // namespace cotrain::playground
