// Takes part in a leader election: performs on a real Lease what the election asks for.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "base/random.hpp"
#include "base/task_group.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "reconcile/election.hpp"
#include "reconcile/write_permit.hpp"

namespace cotrain::reconcile {

struct leader_options {
    std::string ns;        // of the Lease
    std::string name;      // of the Lease
    std::string identity;  // who holds it: see make_identity()
    election_timing timing{};
};

// "<host>_<uuid>": two processes never have the same.
[[nodiscard]] std::string make_identity(std::string_view host, base::random_source& random);

struct leader_tools {
    base::task_group& owner;
    kube::client& api;
    base::random_source& random;
    base::logger& log;
};

// `on_change` is called from the event loop with true when this process starts to lead, and with false when it does so
// no more, which is for good: the process should end then. Tasks of a cancelled group release nothing: stop() first.
// Lives until its task group has been joined.
class leader {
   public:
    leader(const leader_tools& tools, leader_options options, std::function<void(bool)> on_change = {});

    void start();
    [[nodiscard]] bool started() const { return started_; }
    // The gate of every write to the cluster: ask right before each.
    [[nodiscard]] bool leading() const;
    // The rest of the Lease, unless it is renewed before.
    [[nodiscard]] std::optional<write_permit> may_write() const;
    // Waits until this process leads; false when it never will (stopped, lost) or the wait was cancelled.
    [[nodiscard]] awaitable<bool> acquired();
    // Leads no more, and gives the Lease back if that works within `patience`. Whether others may take it at once.
    [[nodiscard]] awaitable<bool> stop(std::chrono::milliseconds patience = std::chrono::milliseconds(2'000));

    // Leads no more, and leaves the Lease to run out: where writes may still be committed that nobody waits for.
    void leave();

    // It led, and lost the Lease or could not renew it in time.
    [[nodiscard]] bool lost() const { return election_.state() == election::role::lost; }
    // Who held the Lease when it was seen last; empty: nobody.
    [[nodiscard]] const std::string& holder() const { return election_.holder(); }
    // How often the Lease changed hands, as it said when it was seen last.
    [[nodiscard]] std::int32_t transitions() const { return election_.transitions(); }
    // Times that the Lease could not be read or written.
    [[nodiscard]] std::uint64_t failures() const { return failures_; }

   private:
    [[nodiscard]] awaitable<void> run();
    [[nodiscard]] awaitable<void> perform(election::action what);
    void made_mistake(std::string_view what, bool reads);
    // Watches the Lease while this process leads: somebody may delete or take it long before the next renewal.
    [[nodiscard]] awaitable<void> follow();
    void heard(std::string_view event);
    [[nodiscard]] awaitable<void> read(moment until);
    [[nodiscard]] awaitable<void> write(election::action what);
    [[nodiscard]] std::string document_of(const lease_record& lease) const;
    [[nodiscard]] base::result<lease_record> understand(std::string body);
    [[nodiscard]] kube::call_options with(moment until) const;
    void failed(const base::error& why);
    void announce();

    base::task_group& owner_;
    kube::client& api_;
    base::random_source& random_;
    base::logger& log_;
    leader_options options_;
    std::function<void(bool)> on_change_;
    election election_;
    asio::steady_timer timer_;
    kube::sleepers waiting_;
    std::string document_;  // the Lease as it was seen last: what others keep in it stays
    std::string known_holder_;
    std::string trouble_;  // told last, at
    moment told_{};
    std::uint64_t failures_ = 0;
    bool started_ = false;
    bool announced_ = false;  // that we lead
    bool stopping_ = false;
    bool ended_ = false;
    moment stop_by_ = moment::max();
};

}  // namespace cotrain::reconcile
