// Running programs: output, codes, bounds, and that no child is left whatever happens.
#include "kube/auth/process.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <thread>

#include "base/task_group.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube::auth {
namespace {

using namespace std::chrono_literals;

base::result<process_result> run(const std::string& script, process_limits limits = {}) {
    asio::io_context loop(1);
    return test::run(loop, run_process({"/bin/sh", {"-c", script}, {}}, limits));
}

// No child of ours is left, running or waiting to be reaped.
bool no_child_left() { return ::waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD; }

TEST(run_process, gives_output_errors_and_code) {
    const auto ran = run("echo out; echo err >&2; exit 7");
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->output, "out\n");
    EXPECT_EQ(ran->errors, "err\n");
    EXPECT_EQ(ran->exit_code, 7);
    EXPECT_EQ(run("kill -TERM $$")->exit_code, 128 + SIGTERM);
    EXPECT_TRUE(no_child_left());
}

TEST(run_process, passes_arguments_and_environment) {
    ::setenv("COTRAIN_TEST_A", "ours", 1);
    ::setenv("COTRAIN_TEST_B", "ours", 1);
    asio::io_context loop(1);
    const auto ran = test::run(
        loop, run_process({"sh",
                           {"-c", "printf '%s|' \"$@\"; echo $COTRAIN_TEST_A $COTRAIN_TEST_B", "sh", "a b", "$x"},
                           {{"COTRAIN_TEST_B", "theirs"}}},
                          {}));
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->output, "a b|$x|ours theirs\n");
    ::unsetenv("COTRAIN_TEST_A");
    ::unsetenv("COTRAIN_TEST_B");
}

TEST(run_process, gives_the_child_an_empty_input_and_none_of_our_descriptors) {
    int held[2];
    ASSERT_EQ(::pipe(held), 0);  // inheritable on purpose
    // Not counted in a pipeline, of which the shell may hold an end meanwhile.
    const auto ran = run("cat; ls /proc/$$/fd; readlink /proc/$$/fd/0");
    ::close(held[0]);
    ::close(held[1]);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->output, "0\n1\n2\n/dev/null\n");
}

TEST(run_process, says_when_there_is_no_such_program) {
    asio::io_context loop(1);
    EXPECT_EQ(test::run(loop, run_process({"no-such-program-anywhere", {}, {}}, {})).error().message,
              "not found in PATH");
    EXPECT_EQ(test::run(loop, run_process({"/no/such/program", {}, {}}, {})).error().message, "no such program");
    const test::temp_dir dir;
    const std::string plain = dir.write("plain", "x");
    EXPECT_EQ(test::run(loop, run_process({plain, {}, {}}, {})).error().message,
              "cannot be started: Permission denied");
    EXPECT_TRUE(no_child_left());
}

TEST(run_process, bounds_output_and_drops_errors_beyond_their_bound) {
    const auto endless = run("yes", {.output_bytes_max = 100'000});
    ASSERT_FALSE(endless);
    EXPECT_EQ(endless.error().code, base::errc::too_large);
    const auto chatty = run("head -c 1000000 /dev/zero | tr '\\0' e >&2; echo ok");
    ASSERT_TRUE(chatty) << chatty.error().message;
    EXPECT_EQ(chatty->output, "ok\n");
    EXPECT_EQ(chatty->errors, std::string(4096, 'e'));
    EXPECT_TRUE(no_child_left());
}

// Neither gone nor a zombie that only its reaper still knows.
bool running(const std::string& pid) {
    std::ifstream file("/proc/" + pid + "/stat");
    const std::string stat(std::istreambuf_iterator<char>(file), {});
    const std::size_t name_end = stat.rfind(')');
    return name_end != std::string::npos && name_end + 2 < stat.size() && stat[name_end + 2] != 'Z';
}

TEST(run_process, kills_what_takes_too_long_with_all_it_started) {
    const test::temp_dir dir;
    const auto late =
        run("sleep 1000 & echo $! > " + dir.path("pid") + "; echo hm >&2; sleep 1000", {.timeout = 200ms});
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, base::errc::deadline);
    EXPECT_NE(late.error().message.find("hm"), std::string::npos);
    EXPECT_TRUE(no_child_left());
    const std::string grandchild = std::to_string(std::stoi(dir.read("pid")));
    while (running(grandchild)) std::this_thread::yield();
}

TEST(run_process, does_not_wait_for_a_daemon_that_keeps_the_pipe) {
    const auto start = std::chrono::steady_clock::now();
    const auto ran = run("echo out; sleep 30 & exit 0", {.linger = 50ms});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->output, "out\n");
    EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
}

awaitable<void> run_into(program what, base::result<process_result>* out) {
    *out = co_await run_process(std::move(what), {});
}

TEST(run_process, cancelling_kills_and_reaps) {
    asio::io_context loop(1);
    base::task_group group(loop.get_executor());
    base::result<process_result> ran;
    group.spawn("run", run_into({"sleep", {"1000"}, {}}, &ran));
    loop.poll();
    ASSERT_EQ(group.size(), 1U);
    group.cancel();
    loop.restart();
    loop.run();  // ends: the child is dead and reaped
    ASSERT_FALSE(ran);
    EXPECT_EQ(ran.error().code, base::errc::canceled);
    EXPECT_TRUE(no_child_left());
}

TEST(run_process, many_at_once) {
    asio::io_context loop(1);
    base::task_group group(loop.get_executor());
    std::vector<base::result<process_result>> ran(40);
    for (int i = 0; i < 40; ++i)
        group.spawn("run",
                    run_into({"sh", {"-c", "echo " + std::to_string(i)}, {}}, &ran[static_cast<std::size_t>(i)]));
    loop.run();
    for (int i = 0; i < 40; ++i) {
        const auto& one = ran[static_cast<std::size_t>(i)];
        ASSERT_TRUE(one) << one.error().message;
        EXPECT_EQ(one->output, std::to_string(i) + "\n");
    }
    EXPECT_TRUE(no_child_left());
}

}  // namespace
}  // namespace cotrain::kube::auth
