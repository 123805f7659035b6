// The operator's flags, gates and single values.
#include "app/config/flags.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

namespace cotrain::app {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::StartsWith;

base::result<operator_flags> read(std::vector<std::string_view> words) { return read_flags(words); }

TEST(config_flags, both_spellings_of_go_are_taken) {
    const auto flags =
        read({"--config=/a", "-kubeconfig", "/b", "--zap-devel", "--zap-encoder=console", "--zap-time-encoding=RFC3339",
              "--zap-stacktrace-level=panic", "--webhook-cert-dir", "/c"});
    ASSERT_TRUE(flags) << flags.error().message;
    EXPECT_EQ(flags->config_file, "/a");
    EXPECT_EQ(flags->kubeconfig, "/b");
    EXPECT_EQ(flags->webhook_cert_dir, "/c");
    EXPECT_EQ(flags->log_level, base::level::debug);
}

TEST(config_flags, log_levels) {
    EXPECT_EQ(read({"--zap-log-level=2"})->log_level, base::level::debug);
    EXPECT_EQ(read({"--zap-log-level=+128"})->log_level, base::level::debug);
    EXPECT_EQ(read({"--zap-log-level=9999999999"})->log_level, base::level::debug);
    EXPECT_EQ(read({"--zap-log-level=ERROR"})->log_level, base::level::error);
    EXPECT_EQ(read({})->log_level, base::level::info);
    EXPECT_THAT(read({"--zap-log-level=0"}).error().message,
                StartsWith("--zap-log-level: '0' cannot be used, allowed: debug, info, error"));
    EXPECT_FALSE(read({"--zap-log-level="}));
}

// What the reference's flags take (controller-runtime's zap package).
TEST(config_flags, every_value_of_zap_is_taken) {
    for (const char* flag :
         {"--zap-time-encoding=epoch", "--zap-time-encoding=millis", "--zap-time-encoding=nanos",
          "--zap-time-encoding=ISO8601", "--zap-time-encoding=rfc3339nano", "--zap-encoder=JSON",
          "--zap-stacktrace-level=Info", "--zap-stacktrace-level=error", "--zap-log-level=panic", "--zap-devel=0"})
        EXPECT_TRUE(read({flag})) << flag;
}

TEST(config_flags, mistakes_are_named) {
    EXPECT_THAT(read({"--nonsense=1"}).error().message, StartsWith("unknown option '--nonsense=1'; --help lists them"));
    EXPECT_THAT(read({"word"}).error().message, StartsWith("unknown option 'word'"));
    EXPECT_THAT(read({"--config"}).error().message, StartsWith("--config: needs a value"));
    EXPECT_THAT(read({"--feature-gates=Foo=true"}).error().message, HasSubstr("Foo: no such gate, allowed:"));
    EXPECT_THAT(read({"--feature-gates=TrainJobTTL"}).error().message, HasSubstr("TrainJobTTL: needs a value"));
    EXPECT_THAT(read({"--zap-devel=maybe"}).error().message, HasSubstr("allowed: true or false"));
}

TEST(config_flags, a_gates_own_choice_counts_before_all_alpha) {
    const auto flags = read({"--feature-gates= AllAlpha=true , TrainJobTTL=false"});
    ASSERT_TRUE(flags) << flags.error().message;
    const feature_gates gates = effective(flags->gates);
    EXPECT_TRUE(gates.train_job_status);
    EXPECT_TRUE(gates.lifecycle_conditions);
    EXPECT_FALSE(gates.train_job_ttl);
    EXPECT_EQ(effective({}), feature_gates{});
    EXPECT_EQ(effective({{"AllBeta", true}}), feature_gates{});
}

class config_file : public testing::Test {
   protected:
    config_file() : path_(testing::TempDir() + "cotrain_config_" + std::to_string(::getpid()) + ".yaml") {}
    ~config_file() override { std::remove(path_.c_str()); }
    void write(const std::string& text) const { std::ofstream(path_) << text; }
    std::string path_;
};

TEST_F(config_file, flags_win_over_the_file) {
    write(
        "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n"
        "featureGates: {TrainJobStatus: false, TrainJobTTL: true}\n");
    const std::string flag = "--config=" + path_;
    const auto config = load_configuration(*read({flag, "--feature-gates=TrainJobStatus=true"}));
    ASSERT_TRUE(config) << config.error().message;
    EXPECT_TRUE(config->effective_gates().train_job_status);
    EXPECT_TRUE(config->effective_gates().train_job_ttl);
}

TEST_F(config_file, errors_begin_with_the_files_name) {
    write("apiVersion: v2\n");
    EXPECT_THAT(load_configuration({.config_file = path_}).error().message, StartsWith(path_ + ": apiVersion: "));
    EXPECT_THAT(load_configuration({.config_file = path_ + ".no"}).error().message, HasSubstr("No such file"));
}

TEST(config_values, durations_as_go_writes_them) {
    EXPECT_EQ(parse_go_duration("15s"), milliseconds(15'000));
    EXPECT_EQ(parse_go_duration("1h2m3.5s"), milliseconds(3'723'500));
    EXPECT_EQ(parse_go_duration("300ms"), milliseconds(300));
    EXPECT_EQ(parse_go_duration("1500us"), milliseconds(2));
    EXPECT_EQ(parse_go_duration("0"), milliseconds(0));
    for (const char* wrong : {"", "15", "s", "-1s", "1x", "1s ", "1..2s", "1e300h", "9999999h", "+"})
        EXPECT_EQ(parse_go_duration(wrong), std::nullopt) << wrong;
    EXPECT_EQ(to_go_duration(milliseconds(1500)), "1500ms");
    EXPECT_EQ(to_go_duration(milliseconds(90'000)), "90s");
}

TEST(config_values, listen_addresses) {
    EXPECT_EQ(parse_listen_address(":8443"), (listen_address{true, "", 8443}));
    EXPECT_EQ(parse_listen_address("localhost:1"), (listen_address{true, "127.0.0.1", 1}));
    EXPECT_EQ(parse_listen_address("[::]:1"), (listen_address{true, "::", 1}));
    EXPECT_EQ(parse_listen_address("0"), (listen_address{false, "", 0}));
    for (const char* wrong : {"", "8443", ":", ":70000", "::1:80", "[127.0.0.1]:1", "a.example:1", ":-1", ":1x"})
        EXPECT_EQ(parse_listen_address(wrong), std::nullopt) << wrong;
    for (const char* same : {":8443", "127.0.0.1:1", "[::1]:2", "0"})
        EXPECT_EQ(to_text(*parse_listen_address(same)), same);
}

}  // namespace
}  // namespace cotrain::app
