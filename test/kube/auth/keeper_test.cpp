// Credentials over time: rotated files, renewed plugins, shared runs, and what is kept when something fails.
#include "kube/auth/keeper.hpp"

#include <gtest/gtest.h>

#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube::auth {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

struct keeper_test : testing::Test {
    asio::io_context loop{1};
    test::temp_dir dir;
    cluster_config cluster;
    keeper_options options;
    std::vector<std::string> lines;
    base::logger log{
        [](void* to, std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); }, &lines,
        base::level::info};
    clock::time_point t0 = clock::now();

    std::unique_ptr<keeper> make() {
        auto made = keeper::make(loop.get_executor(), cluster, options, log, t0);
        if (!made) ADD_FAILURE() << made.error().message;
        return made ? std::move(*made) : nullptr;
    }
    std::string refusal() {
        auto made = keeper::make(loop.get_executor(), cluster, options, log, t0);
        return made ? "no error" : made.error().message;
    }
    base::result<grant> get(keeper& k, clock::duration patience = 20s) {
        return test::run(loop, k.get(clock::now(), clock::now() + patience));
    }
    base::result<bool> renew(keeper& k, std::uint64_t rejected) {
        return test::run(loop, k.renew(rejected, clock::now(), clock::now() + 20s));
    }
    void stop(keeper& k) { test::run(loop, k.stop()); }

    // A plugin that counts its runs in a file and prints `status`, in which $n is the number of the run.
    void use_plugin(const std::string& status, const std::string& before = "") {
        cluster.user.exec.command = dir.script(
            "plugin",
            before + "n=$(($(cat " + dir.path("runs") + " 2>/dev/null || echo 0) + 1))\necho $n > " + dir.path("runs") +
                "\ncat "
                "<<EOF\n{\"kind\":\"ExecCredential\",\"apiVersion\":\"client.authentication.k8s.io/v1\",\"status\":" +
                status + "}\nEOF\n");
        cluster.user.exec.api_version = "client.authentication.k8s.io/v1";
    }
    std::string runs() { return dir.read("runs"); }
};

TEST_F(keeper_test, static_credentials_become_headers) {
    EXPECT_EQ(make()->current(t0)->authorization, "");
    cluster.user.token = "tok";
    EXPECT_EQ(make()->current(t0)->authorization, "Bearer tok");
    cluster.user.token.clear();
    cluster.user.username = "u";
    cluster.user.password = "p";
    EXPECT_EQ(make()->current(t0)->authorization, "Basic dTpw");
}

TEST_F(keeper_test, a_token_file_wins_and_is_followed) {
    cluster.user.token = "static";
    cluster.user.token_file = dir.write("token", " one\n");
    const auto k = make();
    const std::uint64_t first = k->current(t0)->version;
    EXPECT_EQ(k->current(t0)->authorization, "Bearer one");
    dir.write("token", "two");
    EXPECT_EQ(k->current(t0 + 9999ms)->authorization, "Bearer one");
    EXPECT_EQ(k->current(t0 + 10s)->authorization, "Bearer two");
    EXPECT_NE(k->current(t0 + 10s)->version, first);
}

TEST_F(keeper_test, a_rejected_token_is_read_again_at_once) {
    cluster.user.token_file = dir.write("token", "one");
    const auto k = make();
    const grant used = *k->current(t0);
    EXPECT_EQ(renew(*k, used.version), false);
    dir.write("token", "two");
    EXPECT_EQ(renew(*k, used.version), true);
    EXPECT_EQ(k->current(t0)->authorization, "Bearer two");
    // A late rejection of the old one does not count against the new one.
    EXPECT_EQ(renew(*k, used.version), true);
}

TEST_F(keeper_test, a_file_that_breaks_leaves_the_last_content_in_use) {
    cluster.user.token_file = dir.write("token", "one");
    const auto k = make();
    int minute = 0;
    for (const char* broken : {"", " \n", "a b", "a\nb"}) {
        dir.write("token", broken);
        EXPECT_EQ(k->current(t0 + 1min * ++minute)->authorization, "Bearer one") << broken;
    }
    std::filesystem::remove(dir.path("token"));
    lines.clear();
    for (int i = 0; i < 5; ++i) EXPECT_EQ(k->current(t0 + 1min * ++minute)->authorization, "Bearer one");
    EXPECT_EQ(lines.size(), 1U);
    dir.write("token", "new");
    EXPECT_EQ(k->current(t0 + 1min * ++minute)->authorization, "Bearer new");
    EXPECT_EQ(lines.size(), 2U);
}

TEST_F(keeper_test, unusable_files_are_refused_at_the_start) {
    cluster.origin = "in-cluster";
    cluster.user.token_file = dir.path("token");
    EXPECT_EQ(refusal(), "in-cluster: cannot read " + dir.path("token") + ": No such file or directory");
    dir.write("token", "\n");
    EXPECT_EQ(refusal(), "in-cluster: cannot use " + dir.path("token") + ": it is empty");
    dir.write("token", "a b");
    EXPECT_EQ(refusal(), "in-cluster: " + dir.path("token") + " holds spaces, line breaks or bytes that no token has");
    dir.write("token", std::string(token_bytes_max + 1, 'x'));
    EXPECT_EQ(refusal(), "in-cluster: cannot read " + dir.path("token") + ": is larger than 65536 bytes");
}

TEST_F(keeper_test, trust_and_keys_are_followed) {
    cluster.ca.file = dir.write("ca", "ca 1");
    cluster.user.certificate.file = dir.write("crt", "crt 1");
    cluster.user.key.pem = "key";
    const auto k = make();
    const std::uint64_t first = k->tls().version;
    EXPECT_EQ(k->tls().ca_pem, "ca 1");
    EXPECT_EQ(k->tls().certificate_pem, "crt 1");
    EXPECT_EQ(k->tls().key_pem, "key");
    static_cast<void>(k->current(t0 + 10s));
    EXPECT_EQ(k->tls().version, first);
    dir.write("ca", "ca 2");
    k->look_again(t0 + 11s);
    EXPECT_EQ(k->tls().ca_pem, "ca 2");
    EXPECT_GT(k->tls().version, first);
}

TEST_F(keeper_test, a_plugin_runs_when_it_is_needed_and_is_told_about_the_cluster) {
    use_plugin(R"({"token":"t$n"})", "echo \"$KUBERNETES_EXEC_INFO\" > " + dir.path("info") + "\n");
    cluster.user.exec.provide_cluster_info = true;
    cluster.server = "https://x";
    const auto k = make();
    EXPECT_EQ(k->current(t0), nullptr);
    EXPECT_EQ(get(*k)->authorization, "Bearer t1");
    EXPECT_EQ(get(*k)->authorization, "Bearer t1");
    EXPECT_EQ(k->current(clock::now() + 1000h)->authorization, "Bearer t1");
    EXPECT_EQ(runs(), "1\n");
    EXPECT_NE(dir.read("info").find(R"("cluster":{"server":"https://x"})"), std::string::npos);
    stop(*k);
}

awaitable<void> get_into(keeper* k, base::result<grant>* out) {
    *out = co_await k->get(clock::now(), clock::now() + 20s);
}

TEST_F(keeper_test, callers_share_one_run_and_survive_each_others_end) {
    use_plugin(R"({"token":"t$n"})", "while [ ! -e " + dir.path("go") + " ]; do sleep 0.01; done\n");
    const auto k = make();
    base::task_group first(loop.get_executor()), others(loop.get_executor());
    base::result<grant> given_up;
    std::vector<base::result<grant>> all(20);
    first.spawn("first", get_into(k.get(), &given_up));
    for (auto& one : all) others.spawn("other", get_into(k.get(), &one));
    loop.poll();
    first.cancel();
    dir.write("go", "");
    loop.restart();
    loop.run();
    ASSERT_FALSE(given_up);
    EXPECT_EQ(given_up.error().code, base::errc::canceled);
    for (const auto& one : all) EXPECT_EQ(one->authorization, "Bearer t1");
    EXPECT_EQ(runs(), "1\n");
    stop(*k);
}

TEST_F(keeper_test, a_rejected_plugin_runs_again_but_not_in_a_loop) {
    use_plugin(R"({"token":"t$n"})");
    options.exec.pause = 1h;
    auto k = make();
    const grant used = *get(*k);
    EXPECT_EQ(renew(*k, used.version), false);
    EXPECT_EQ(runs(), "1\n");
    stop(*k);
    options.exec.pause = 0ms;
    k = make();
    const grant second = *get(*k);
    EXPECT_EQ(second.authorization, "Bearer t2");
    EXPECT_EQ(renew(*k, second.version), true);
    EXPECT_EQ(k->current(clock::now())->authorization, "Bearer t3");
    stop(*k);
}

TEST_F(keeper_test, expiring_credentials_are_renewed_behind_the_callers_back) {
    use_plugin(R"j({"token":"t$n","expirationTimestamp":"$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ)"})j");
    options.exec.pause = 0ms;
    const auto k = make();
    EXPECT_EQ(get(*k)->authorization, "Bearer t1");
    const auto soon = clock::now() + 58min;
    EXPECT_EQ(k->current(soon)->authorization, "Bearer t1");
    loop.restart();
    loop.run();
    EXPECT_EQ(k->current(clock::now())->authorization, "Bearer t2");
    EXPECT_EQ(k->current(clock::now() + 2h), nullptr);
    stop(*k);
}

TEST_F(keeper_test, a_certificate_from_a_plugin_reaches_tls) {
    use_plugin(R"({"clientCertificateData":"crt$n","clientKeyData":"key"})");
    const auto k = make();
    const std::uint64_t first = k->tls().version;
    EXPECT_EQ(get(*k)->authorization, "");
    EXPECT_EQ(k->tls().certificate_pem, "crt1");
    EXPECT_EQ(k->tls().key_pem, "key");
    EXPECT_GT(k->tls().version, first);
    stop(*k);
}

TEST_F(keeper_test, a_failing_plugin_is_quoted_and_not_run_for_every_request) {
    cluster.user.exec.command =
        dir.script("plugin", "echo x >> " + dir.path("runs") + "; echo no session >&2; exit 3\n");
    cluster.user.exec.api_version = "client.authentication.k8s.io/v1";
    options.exec.pause = 1h;
    const auto k = make();
    const auto failed = get(*k);
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, base::errc::auth);
    EXPECT_EQ(failed.error().message, "exec plugin " + dir.path("plugin") + ": it ended with 3: no session ");
    EXPECT_EQ(get(*k).error().message, failed.error().message);
    EXPECT_EQ(runs(), "x\n");
    stop(*k);
}

TEST_F(keeper_test, a_missing_plugin_gives_its_install_hint) {
    cluster.user.exec = {.command = "no-such-plugin", .api_version = "x", .install_hint = "get it at\nexample.com"};
    const auto k = make();
    EXPECT_EQ(get(*k).error().message, "exec plugin no-such-plugin: not found in PATH; get it at example.com");
    stop(*k);
}

TEST_F(keeper_test, nobody_waits_beyond_the_deadline) {
    use_plugin(R"({"token":"t"})", "sleep 1000\n");
    const auto k = make();
    // The run goes on behind: stop() ends it.
    base::result<grant> late;
    test::run(loop, [](keeper* kept, base::result<grant>* out) -> awaitable<void> {
        *out = co_await kept->get(clock::now(), clock::now() + 50ms);
        co_await kept->stop();
    }(k.get(), &late));
    ASSERT_FALSE(late);
    EXPECT_EQ(late.error().code, base::errc::deadline);
}

}  // namespace
}  // namespace cotrain::kube::auth
