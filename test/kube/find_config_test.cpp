// Which configuration is taken, and what the files of a Pod come to.
#include "kube/config.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "base/read_file.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::kube {
namespace {

std::string kubeconfig_for(const std::string& host) {
    return "clusters: [{name: c, cluster: {server: 'https://" + host +
           "', certificate-authority: ca.crt}}]\ncontexts: [{name: x, context: {cluster: c}}]\ncurrent-context: x\n";
}

TEST(load_kubeconfig, merges_the_list_and_skips_what_is_missing) {
    const test::temp_dir dir;
    const std::string one = dir.write("one", "current-context: x\n");
    const std::string two = dir.write("two", kubeconfig_for("two"));
    const std::string three = dir.write("three", kubeconfig_for("three"));
    const auto made = load_kubeconfig(":" + dir.path("missing") + ":" + one + "::" + two + ":" + three + ":" + two);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->host, "two");
    EXPECT_EQ(made->ca.file, dir.path("ca.crt"));
}

TEST(load_kubeconfig, complains_when_nothing_is_there) {
    const test::temp_dir dir;
    EXPECT_EQ(load_kubeconfig(dir.path("a") + ":" + dir.path("b")).error().message,
              "kubeconfig " + dir.path("a") + ":" + dir.path("b") + ": no such file: name one that exists");
    EXPECT_EQ(load_kubeconfig(":::").error().message, "kubeconfig: no file was named: set KUBECONFIG");
    EXPECT_NE(load_kubeconfig(dir.path(".")).error().message.find("is a directory"), std::string::npos);
    std::string many;
    for (int i = 0; i < 200; ++i) many += "/f" + std::to_string(i) + ":";
    EXPECT_EQ(load_kubeconfig(many).error().code, base::errc::too_large);
}

environment pod(const test::temp_dir& dir) {
    dir.write("token", "tok\n");
    dir.write("ca.crt", "pem");
    dir.write("namespace", "team\n");
    environment env;
    env.service_host = "fd00::1";
    env.service_port = "443";
    env.service_account_dir = dir.path("");
    env.service_account_dir.pop_back();
    return env;
}

TEST(in_cluster_config, names_the_files_that_kubelet_mounts) {
    const test::temp_dir dir;
    const auto made = in_cluster_config(pod(dir));
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->server, "https://[fd00::1]:443");
    EXPECT_EQ(made->host, "fd00::1");
    EXPECT_EQ(made->user.token_file, dir.path("token"));
    EXPECT_EQ(made->ca.file, dir.path("ca.crt"));
    EXPECT_EQ(made->ns, "team");
    EXPECT_EQ(made->origin, "in-cluster");
}

TEST(in_cluster_config, complains_about_its_variables) {
    const test::temp_dir dir;
    environment env = pod(dir);
    env.service_port = "https";
    EXPECT_EQ(in_cluster_config(env).error().message,
              "in-cluster: KUBERNETES_SERVICE_PORT is \"https\", must be a port");
    env.service_port.clear();
    EXPECT_TRUE(in_cluster_config(env).error().message.starts_with(
        "in-cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set"));
}

TEST(find_config, goes_from_the_explicit_to_the_implicit) {
    const test::temp_dir dir;
    environment env = pod(dir);
    env.https_proxy = "http://proxy:1";
    env.no_proxy = "x";
    std::filesystem::create_directory(dir.path(".kube"));
    env.home = dir.path("");
    dir.write(".kube/config", kubeconfig_for("home"));
    env.kubeconfig = dir.write("listed", kubeconfig_for("listed"));
    const std::string named = dir.write("na:med", kubeconfig_for("named"));

    EXPECT_EQ(find_config(env, named)->host, "named");
    EXPECT_EQ(find_config(env)->host, "listed");
    EXPECT_EQ(find_config(env)->https_proxy, "http://proxy:1");
    EXPECT_EQ(find_config(env)->no_proxy, "x");
    env.kubeconfig.clear();
    EXPECT_EQ(find_config(env)->host, "fd00::1");
    EXPECT_EQ(find_config(env, "", "x")->host, "home");
    env.service_host.clear();
    EXPECT_EQ(find_config(env)->host, "home");
    env.home.clear();
    EXPECT_TRUE(find_config(env).error().message.starts_with("no cluster: "));
    EXPECT_FALSE(find_config(env, dir.path("missing")));
}

TEST(read_file, bounds_size_and_never_waits_for_a_fifo) {
    const test::temp_dir dir;
    const std::string file = dir.write("f", std::string(100, 'x'));
    EXPECT_EQ(base::read_file(file, 100)->size(), 100U);
    EXPECT_EQ(base::read_file(file, 99).error().message, "cannot read " + file + ": is larger than 99 bytes");
    ASSERT_EQ(::mkfifo(dir.path("fifo").c_str(), 0600), 0);
    EXPECT_EQ(base::read_file(dir.path("fifo"), 99), "");
    bool missing = false;
    EXPECT_FALSE(base::read_file(dir.path("none"), 9, &missing));
    EXPECT_TRUE(missing);
    EXPECT_FALSE(base::read_file(dir.path("."), 9, &missing));
    EXPECT_FALSE(missing);
}

}  // namespace
}  // namespace cotrain::kube
