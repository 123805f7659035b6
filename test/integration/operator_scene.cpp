// Setting scenes, many jobs at a time.
#include "integration/operator_scene.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include "base/task_group.hpp"
#include "crd/crd.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"
#include "kube/config.hpp"
#include "support/run.hpp"

namespace cotrain::test {

namespace {

using clock = std::chrono::steady_clock;

constexpr int at_once = 16;
constexpr kube::resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                     "CustomResourceDefinition", false};

constexpr std::string_view runtimes[] = {R"({
  "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "torch"},
  "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": [
    {"name": "node", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
     "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "registry.test/torch:1"}]}}}}}]}}}})",
                                         R"({
  "apiVersion": "trainer.kubeflow.org/v1alpha1", "kind": "TrainingRuntime", "metadata": {"name": "mpi"},
  "spec": {"mlPolicy": {"numNodes": 1, "mpi": {"numProcPerNode": 8}}, "podGroupPolicy": {"coscheduling": {}},
   "template": {"spec": {"replicatedJobs": [
    {"name": "launcher", "template": {"metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
     "spec": {"template": {"spec": {"containers": [{"name": "node", "image": "registry.test/mpi:1"}]}}}}},
    {"name": "node", "template": {"spec": {"template": {"spec": {"containers": [
     {"name": "node", "image": "registry.test/mpi:1"}]}}}}}]}}}})"};

kube::cluster_config cluster_of(const std::string& kubeconfig) {
    if (kubeconfig.empty()) return real_cluster();
    auto config = kube::load_kubeconfig(kubeconfig);
    if (!config) throw std::runtime_error(config.error().message);
    return std::move(*config);
}

std::string text_of(doc::ref value) { return std::string(value.as_string()); }

}  // namespace

int count_of(std::string_view text, std::string_view what) {
    int n = 0;
    for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + what.size())) ++n;
    return n;
}

bool full_run() { return std::getenv("COTRAIN_TEST_FULL") != nullptr; }

std::vector<audit_entry> audit_log::read() {
    std::vector<audit_entry> out;
    std::ifstream in(file_);
    in.seekg(static_cast<std::streamoff>(offset_));
    for (std::string line; std::getline(in, line) && !in.eof();) {
        offset_ += line.size() + 1;
        doc::arena memory;
        const auto e = doc::parse_json(memory, line);
        if (!e) continue;
        const doc::ref object = e->get("objectRef");
        const doc::ref as = e->get("impersonatedUser");
        out.push_back({.verb = text_of(e->get("verb")),
                       .agent = text_of(e->get("userAgent")),
                       .user = text_of(as ? as.get("username") : e->get({"user", "username"})),
                       .resource = text_of(object.get("resource")),
                       .sub_resource = text_of(object.get("subresource")),
                       .ns = text_of(object.get("namespace")),
                       .name = text_of(object.get("name")),
                       .received = text_of(e->get("requestReceivedTimestamp")),
                       .code = static_cast<int>(e->get({"responseStatus", "code"}).as_int(0))});
    }
    return out;
}

operator_scene::operator_scene(std::string name, std::string config)
    : ns(std::move(name)), kubeconfig(std::move(config)) {
    auto made = kube::client::make(loop.get_executor(), cluster_of(kubeconfig), {}, base::null_logger());
    if (!made) throw std::runtime_error(made.error().message);
    api = std::move(*made);
}

void operator_scene::play(awaitable<void> (*body)(operator_scene&)) {
    test::run(loop, run(body));
    if (testing::Test::HasFailure() && child) {
        const std::string log = child->log();
        std::printf("%s\n", log.substr(log.size() > 4000 ? log.size() - 4000 : 0).c_str());
    }
}

awaitable<void> operator_scene::run(awaitable<void> (*body)(operator_scene&)) {
    const bool ready = co_await prepare();
    EXPECT_TRUE(ready);
    if (ready) co_await body(*this);
    const int stopped = child ? co_await child->stop() : 0;
    EXPECT_EQ(stopped, 0);
    // Whoever comes next finds no jobs of ours.
    kube::call all;
    all.http.method = "DELETE";
    all.http.path = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/" + ns + "/trainjobs";
    all.attempt = "delete TrainJobs";
    static_cast<void>(co_await api->perform(std::move(all)));
    static_cast<void>(co_await api->remove(kinds::ns, {.name = ns}));
    co_await api->stop();
}

awaitable<bool> operator_scene::prepare() {
    for (const crd::definition& each : crd::definitions()) {
        doc::arena memory;
        const doc::ref crd = crd::make_crd(memory, each);
        const std::string name(crd.get({"metadata", "name"}).as_string());
        const std::string body = doc::to_json(crd);
        const api::resource_type& t = each.resource;
        if (!co_await api->apply(definitions, {.name = name}, body, true, {.field_manager = "test"})) co_return false;
        const auto due = clock::now() + std::chrono::seconds(60);
        while (!co_await api->list({t.group, t.version, t.plural, t.kind, t.namespaced}, "", {.limit = 1}))
            if (clock::now() > due) co_return false;
    }
    const std::string space = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns + "\"}}";
    if (!co_await api->create(kinds::ns, "", space)) co_return false;
    for (const std::string_view r : runtimes)
        if (!co_await api->create(kinds::runtime, ns, std::string(r))) co_return false;
    co_return true;
}

awaitable<bool> operator_scene::start_operator(std::string config) {
    if (config.empty()) config = "apiVersion: config.trainer.kubeflow.org/v1alpha1\nkind: Configuration\n";
    child = std::make_unique<operator_child>(loop, std::move(config), kubeconfig);
    co_return co_await child->said("all TrainJobs reconciled", std::chrono::seconds(120));
}

awaitable<void> operator_scene::create_jobs(std::string prefix, int from, int to, std::string spec) {
    for (int i = from; i < to; ++i) {
        const std::string body =
            R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","metadata":{"name":")" + prefix +
            std::to_string(i) + R"("},"spec":)" + spec + "}";
        const auto done = co_await api->create(kinds::train_job, ns, body);
        EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    }
}

awaitable<void> operator_scene::create_many(std::string prefix, int count, std::string spec) {
    base::task_group tasks(loop.get_executor());
    for (int t = 0; t < at_once; ++t)
        tasks.spawn("create", create_jobs(prefix, count * t / at_once, count * (t + 1) / at_once, spec));
    co_await tasks.join();
}

awaitable<void> operator_scene::report_some(std::string prefix, int from, int to, std::string status) {
    const std::string body = R"({"status":)" + status + "}";
    for (int i = from; i < to; ++i) {
        const std::string name = prefix + std::to_string(i);
        const auto done =
            co_await api->merge_patch(kinds::job_set, {.ns = ns, .name = name}, body, {.sub_resource = "status"});
        EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
    }
}

awaitable<void> operator_scene::report_many(std::string prefix, int count, std::string status) {
    base::task_group tasks(loop.get_executor());
    for (int t = 0; t < at_once; ++t)
        tasks.spawn("report", report_some(prefix, count * t / at_once, count * (t + 1) / at_once, status));
    co_await tasks.join();
}

awaitable<void> operator_scene::complete_many(std::string prefix, int count) {
    co_await report_many(std::move(prefix), count,
                         R"({"conditions":[{"type":"Completed","status":"True","reason":"Test","message":"done",)"
                         R"("lastTransitionTime":"2031-02-03T04:05:06Z"}],"replicatedJobsStatus":[{"name":"node",)"
                         R"("ready":0,"succeeded":1,"failed":0,"active":0,"suspended":0}]})");
}

awaitable<void> operator_scene::start_many(std::string prefix, int count, std::vector<std::string> replicated_jobs) {
    std::string jobs;
    for (const std::string& name : replicated_jobs) {
        jobs += std::string(jobs.empty() ? "" : ",") + R"({"name":")" + name +
                R"(","ready":1,"succeeded":0,"failed":0,"active":1,"suspended":0})";
    }
    co_await report_many(std::move(prefix), count, R"({"replicatedJobsStatus":[)" + jobs + "]}");
}

awaitable<base::result<std::string>> operator_scene::try_list(kube::resource of, kube::shape as) {
    std::string out;
    auto pages = api->pages(of, ns, {.limit = 500, .as = as});
    for (;;) {
        auto page = co_await pages.next();
        if (!page) co_return base::fail(std::move(page.error()));
        if (!*page) co_return out;
        out += (*page)->body;
    }
}

awaitable<std::string> operator_scene::list(kube::resource of, kube::shape as) {
    auto all = co_await try_list(of, as);
    EXPECT_TRUE(all) << of.plural << ": " << (all ? "" : all.error().message);
    co_return all.value_or("");
}

awaitable<int> operator_scene::count(kube::resource of) {
    const auto all = co_await try_list(of, kube::shape::metadata);
    co_return all ? count_of(*all, R"("uid":")") - count_of(*all, R"("ownerReferences")") : -1;
}

awaitable<bool> operator_scene::until(kube::resource of, std::function<bool(const std::string&)> good,
                                      std::chrono::seconds within) {
    const auto due = clock::now() + within;
    asio::steady_timer timer(loop);
    for (;;) {
        const auto all = co_await try_list(of);
        if (all && good(*all)) co_return true;
        if (clock::now() > due) co_return false;
        timer.expires_after(std::chrono::milliseconds(50));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

awaitable<bool> operator_scene::until_count(kube::resource of, int wanted, std::chrono::seconds within) {
    const auto due = clock::now() + within;
    asio::steady_timer timer(loop);
    while (co_await count(of) != wanted) {
        if (clock::now() > due) co_return false;
        timer.expires_after(std::chrono::milliseconds(200));
        co_await timer.async_wait(asio::use_awaitable);
    }
    co_return true;
}

}  // namespace cotrain::test
