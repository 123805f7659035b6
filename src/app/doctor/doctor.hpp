// Looking at a cluster: asks the API server one thing after the other and has the answers judged.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/doctor/judge.hpp"
#include "base/asio.hpp"
#include "kube/client.hpp"

namespace cotrain::app {

struct doctor_options {
    std::string kubeconfig{};
    std::string context{};
    std::string ns{};       // empty: where the webhooks' Service is, else kubeflow-system
    std::string account{};  // and the Deployment's name; empty: the Service's, else kubeflow-trainer-controller-manager
    own_objects own{};
    bool json = false;
};

class examination {
   public:
    examination(kube::client& api, std::string server, doctor_options options, std::chrono::sys_seconds now)
        : api_(api), server_(std::move(server)), options_(std::move(options)), now_(now) {}

    // Everything, in an order that lets later questions use earlier answers. Stops where nothing can be reached.
    [[nodiscard]] awaitable<findings> run();

   private:
    // An object or a list as text; nothing when there is none, an error where it cannot be read.
    [[nodiscard]] awaitable<base::result<std::optional<std::string>>> read(kube::resource of, std::string ns,
                                                                           std::string name);
    [[nodiscard]] awaitable<base::result<std::string>> read_list(kube::resource of, std::string ns, std::string fields,
                                                                 std::string labels);
    [[nodiscard]] awaitable<bool> look_at_connection();
    [[nodiscard]] awaitable<void> look_at_definitions();
    [[nodiscard]] awaitable<void> look_at_webhooks();
    [[nodiscard]] awaitable<void> look_at_configuration(kube::resource of, std::string name,
                                                        std::vector<std::string>* missing);
    [[nodiscard]] awaitable<void> look_at_certificate();
    [[nodiscard]] awaitable<void> look_at_rights();
    [[nodiscard]] awaitable<base::result<bool>> allowed(kube::access_question question, bool about_account);
    [[nodiscard]] awaitable<finding> look_at_lease();
    [[nodiscard]] awaitable<void> look_at_operator();
    [[nodiscard]] awaitable<void> look_at_job_set_controller();
    [[nodiscard]] awaitable<void> look_at_runtimes();
    [[nodiscard]] awaitable<void> look_at_workloads();
    [[nodiscard]] std::string own_namespace() const;
    [[nodiscard]] std::string own_account() const;
    void add(finding f) { found_.push_back(std::move(f)); }
    // Something that could not be read.
    [[nodiscard]] static finding unread(std::string_view area, const base::error& why);
    void cannot(std::string_view area, const base::error& why);

    kube::client& api_;
    std::string server_;
    doctor_options options_;
    std::chrono::sys_seconds now_;
    std::string who_;
    kube::server_version version_{};
    std::vector<webhook_target> targets_;
    bool coscheduling_ = false;
    bool volcano_ = false;
    findings found_;
};

}  // namespace cotrain::app
