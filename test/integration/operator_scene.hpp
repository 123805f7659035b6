// A namespace with runtimes and jobs for an operator to work on, and the audit log that tells what it did.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "integration/operator_child.hpp"
#include "kube/client.hpp"

namespace cotrain::test {

namespace kinds {
inline constexpr kube::resource train_job{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"};
inline constexpr kube::resource runtime{"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"};
inline constexpr kube::resource job_set{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"};
inline constexpr kube::resource pod_group{"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"};
inline constexpr kube::resource config_map{"", "v1", "configmaps", "ConfigMap"};
inline constexpr kube::resource secret{"", "v1", "secrets", "Secret"};
inline constexpr kube::resource ns{"", "v1", "namespaces", "Namespace", false};
inline constexpr kube::resource event{"events.k8s.io", "v1", "events", "Event"};
}  // namespace kinds

// One request that the API server has answered.
struct audit_entry {
    std::string verb;
    std::string agent;
    std::string user;  // who was impersonated, else the user
    std::string resource;
    std::string sub_resource;
    std::string ns;
    std::string name;
    std::string received;  // sorts as time
    int code = 0;

    [[nodiscard]] bool by_operator() const { return agent.starts_with("cotrain/") && !agent.contains("unknown"); }
    [[nodiscard]] bool writes() const { return verb != "get" && verb != "list" && verb != "watch"; }
    [[nodiscard]] bool is_lease() const { return resource == "leases"; }
};

// Reads what was added to the log since the last time.
class audit_log {
   public:
    explicit audit_log(std::string file) : file_(std::move(file)) { static_cast<void>(read()); }
    [[nodiscard]] std::vector<audit_entry> read();

   private:
    std::string file_;
    std::uintmax_t offset_ = 0;
};

class operator_scene {
   public:
    // With the control plane of the run, or of another kubeconfig.
    explicit operator_scene(std::string name, std::string kubeconfig = {});
    // Makes definitions, namespace and runtimes; then the body; then takes the jobs away.
    void play(awaitable<void> (*body)(operator_scene&));

    [[nodiscard]] awaitable<bool> start_operator(std::string config = {});
    [[nodiscard]] awaitable<void> create_jobs(std::string prefix, int from, int to, std::string spec);
    [[nodiscard]] awaitable<void> create_many(std::string prefix, int count, std::string spec);
    // "Completed" on the JobSets of jobs prefix-from … prefix-to.
    [[nodiscard]] awaitable<void> complete_many(std::string prefix, int count);
    // All Pods of these jobs' JobSets are ready.
    [[nodiscard]] awaitable<void> start_many(std::string prefix, int count, std::vector<std::string> replicated_jobs);
    // The text of all objects of a kind in the namespace. That they can be listed is expected of the test.
    [[nodiscard]] awaitable<std::string> list(kube::resource of, kube::shape as = kube::shape::whole);
    [[nodiscard]] awaitable<base::result<std::string>> try_list(kube::resource of, kube::shape as = kube::shape::whole);
    // −1: not known now.
    [[nodiscard]] awaitable<int> count(kube::resource of);
    // Asks until the text of all objects of a kind satisfies; false when the time is up.
    [[nodiscard]] awaitable<bool> until(kube::resource of, std::function<bool(const std::string&)> good,
                                        std::chrono::seconds within = std::chrono::seconds(120));
    [[nodiscard]] awaitable<bool> until_count(kube::resource of, int wanted,
                                              std::chrono::seconds within = std::chrono::seconds(240));

    asio::io_context loop{1};
    std::unique_ptr<kube::client> api;
    std::unique_ptr<operator_child> child;
    std::string ns;
    std::string kubeconfig;

   private:
    [[nodiscard]] awaitable<void> run(awaitable<void> (*body)(operator_scene&));
    [[nodiscard]] awaitable<bool> prepare();
    [[nodiscard]] awaitable<void> report_some(std::string prefix, int from, int to, std::string status);
    [[nodiscard]] awaitable<void> report_many(std::string prefix, int count, std::string status);
};

// Occurrences of a text in another.
[[nodiscard]] int count_of(std::string_view text, std::string_view what);
// The full run asks for more: COTRAIN_TEST_FULL is set.
[[nodiscard]] bool full_run();

}  // namespace cotrain::test
