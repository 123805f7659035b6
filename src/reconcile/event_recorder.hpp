// Which events.k8s.io/v1 Events to write: repetitions are counted in a series, normal ones may be dropped.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "reconcile/delay_queue.hpp"
#include "reconcile/election.hpp"
#include "reconcile/fair_bucket.hpp"

namespace cotrain::reconcile {

inline constexpr std::size_t event_note_bytes_max = 1024;            // the API's own bound, counted in bytes here
inline constexpr std::size_t event_series_max = 4096;                // remembered; the least recent is forgotten
inline constexpr auto event_series_idle = std::chrono::minutes(6);   // a repetition after that begins anew
inline constexpr auto event_series_pause = std::chrono::minutes(5);  // between two writes of one series
// Normal events of all objects. Namespaces share the rate fairly: one whose part is used up has its next ones dropped.
inline constexpr double normal_events_qps = 10;
inline constexpr double normal_events_burst = 10;
inline constexpr auto normal_events_ahead = std::chrono::seconds(1);  // of the rate, by all together

enum class event_type : std::uint8_t { normal, warning };

// The object that an event is about.
struct event_subject {
    std::string api_version;
    std::string kind;
    std::string ns;  // empty: cluster-wide; its events go to "default"
    std::string name;
    std::string uid;
    std::string resource_version;
};

struct event_note {
    event_subject about;
    event_type type = event_type::warning;
    std::string reason;  // "TrainJobResourcesCreationFailed"
    std::string action;  // "Reconciling"
    std::string note;
    bool kept = false;  // not to be dropped: the end of a job
};

// One request: create the Event, or merge its series into the one written before.
struct event_write {
    enum class verb : std::uint8_t { create, patch };
    verb how = verb::create;
    std::string ns;
    std::string name;
    std::string body;  // JSON
    bool kept = false;
    unsigned tries = 0;
};

struct event_metrics {
    std::uint64_t written = 0;
    std::uint64_t counted = 0;  // repetitions that cost no request
    std::uint64_t dropped = 0;  // normal events above the rate
};

// Two events are the same when subject, type, reason, action and note are: every new error text is an event.
class event_recorder {
   public:
    // `controller` is reportingController, `instance` reportingInstance.
    event_recorder(std::string controller, std::string instance)
        : controller_(std::move(controller)), instance_(std::move(instance)) {}

    [[nodiscard]] std::optional<event_write> record(const event_note& what, moment now, wall_micros wall);
    // The Event of that name is gone (a 404 on its patch): its next repetition creates one.
    void forget(std::string_view ns, std::string_view name);

    [[nodiscard]] const event_metrics& metrics() const { return metrics_; }
    [[nodiscard]] std::size_t series() const { return known_.size(); }

   private:
    struct known_event {
        std::string identity;
        std::string ns;
        std::string name;
        std::int32_t count = 1;
        moment last_seen;
        moment last_write;
    };
    [[nodiscard]] event_write create(const event_note& what, const std::string& note, std::string name,
                                     wall_micros wall) const;
    [[nodiscard]] std::optional<event_write> repeat(known_event& known, moment now, wall_micros wall);
    void remember(std::string identity, const event_write& write, moment now);

    std::string controller_;
    std::string instance_;
    std::list<known_event> known_;  // the most recent first
    std::unordered_map<std::string_view, std::list<known_event>::iterator> by_identity_;
    fair_bucket normal_{normal_events_qps, normal_events_burst};
    std::int64_t last_name_ = 0;
    event_metrics metrics_;
};

}  // namespace cotrain::reconcile
