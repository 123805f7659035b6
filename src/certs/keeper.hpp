// Keeps the serving certificate in its Secret valid, and the CA bundles of webhooks in line with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/asio.hpp"
#include "base/backoff.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/task_group.hpp"
#include "certs/certificate_set.hpp"
#include "certs/files.hpp"
#include "kube/client.hpp"

namespace cotrain::certs {

// How soon to look again at what somebody else may want otherwise: a pure decision with time and chance passed in.

struct repair_policy {
    std::chrono::milliseconds pause{1'000};  // between two looks, however often things change; half of it is chance
    unsigned at_once = 5;                    // repairs before they slow down
    base::backoff_policy contested{std::chrono::milliseconds(2'000), std::chrono::milliseconds(60'000), 2.0, 0.5};
    base::backoff_policy failed{std::chrono::milliseconds(500), std::chrono::milliseconds(4'000), 2.0, 0.5};
    std::chrono::milliseconds calm{600'000};  // so long without a repair, and the next ones are first repairs again
};

// Two who want the same object differently undo each other's work for ever, each as fast as it hears of the other's.
class repair_pace {
   public:
    using moment = std::chrono::steady_clock::time_point;

    // What came of a look. A write that lost a race counts as a repair: somebody else writes there.
    enum class found : std::uint8_t { good, repaired, failed };

    explicit repair_pace(repair_policy policy)
        : policy_(policy), contested_pause_(policy.contested), failed_pause_(policy.failed) {}

    // How long not to look again, whatever is heard meanwhile.
    [[nodiscard]] std::chrono::milliseconds after(found what, moment now, base::random_source& random);
    // Others undo what we repair.
    [[nodiscard]] bool contested() const { return repairs_ > policy_.at_once; }

   private:
    repair_policy policy_;
    base::backoff contested_pause_;
    base::backoff failed_pause_;
    unsigned repairs_ = 0;  // without a time of calm between them; stops counting when they are contested
    moment last_repair_{};
};

// Keeps our certificates: in the secret that all replicas share, in the webhook configurations, and in our servers. The
// authority's certificate, and nothing else, is in a ConfigMap of the secret's name, too: clients that need it to
// verify us needs no right to read the secret, which has its key.

struct keeper_options {
    std::string ns;
    std::string secret;
    certificate_names names;
    std::string mutating = "defaulter.trainer.kubeflow.org";
    std::string validating = "validator.trainer.kubeflow.org";
    bool webhooks = true;                            // false: webhook configurations are left alone
    std::chrono::milliseconds check_every{600'000};  // although nothing was heard to have changed
    repair_policy pace{};
    base::backoff_policy watch_retry{std::chrono::milliseconds(500), std::chrono::milliseconds(4'000), 2.0, 0.5};
    // Where we may not watch an object it is looked at that often instead.
    base::backoff_policy unwatched{std::chrono::milliseconds(5'000), std::chrono::milliseconds(60'000), 2.0, 0.5};
    base::backoff_policy mistake_retry = base::task_group::supervised_pause;
    std::function<wall_time()> now = [] {
        return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    };
};

// Whatever is missing or wrong is made anew as soon as a watch tells: all replicas do it, the secret's
// resourceVersion decides whose certificates count. The webhook configurations trust an authority before anybody
// shows a certificate of its. Who else wants them otherwise is answered ever more slowly.
class certificate_keeper {
   public:
    certificate_keeper(asio::any_io_executor executor, kube::client& api, served_certificate& serving,
                       keeper_options options, base::logger& log);

    void start();
    [[nodiscard]] awaitable<void> stop();
    // What is served has been saved, and trusted where it can be.
    [[nodiscard]] bool settled() const { return settled_; }
    [[nodiscard]] const certificate_set& current() const { return current_; }

   private:
    struct stored;
    [[nodiscard]] awaitable<void> keep();
    // Calls for every change of one object.
    [[nodiscard]] awaitable<void> follow(kube::resource of, std::string ns, std::string name);
    [[nodiscard]] awaitable<base::result<>> tend();
    [[nodiscard]] awaitable<base::result<stored>> read();
    [[nodiscard]] awaitable<base::result<>> save(stored* what);
    [[nodiscard]] awaitable<base::result<>> trust(kube::resource of, std::string name, std::string ca_pem);
    // Somebody undoes our repairs: says who.
    void tell_contested(std::string_view object, std::string_view member, std::string_view body);
    // Everybody may know it; a failure is logged and stops nothing.
    [[nodiscard]] awaitable<void> publish(std::string ca_pem);
    void changed();

    kube::client& api_;
    served_certificate& serving_;
    keeper_options options_;
    base::logger& log_;
    base::task_group tasks_;
    asio::steady_timer hold_;   // until which nothing is looked at, whatever changes
    asio::steady_timer pause_;  // ends early when something changes
    base::random_source random_ = base::random_source::from_system();
    repair_pace pace_;
    certificate_set current_;
    std::string published_;  // what is known to be in the ConfigMap
    wall_time renew_at_{};
    bool changed_ = false;
    bool repaired_ = false;  // by this look
    bool settled_ = false;
};

}  // namespace cotrain::certs
