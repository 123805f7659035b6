// Faults by a small script: which requests fare badly, how, and how often. Pure; chance is a seeded source.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"

namespace cotrain::sim {

inline constexpr std::size_t fault_rules_max = 100;
inline constexpr std::chrono::milliseconds fault_delay_max{600'000};

enum class fault_action : std::uint8_t {
    delay,      // before the request is looked at
    status,     // answered with that code, and nothing is done
    drop,       // done, but the connection is cut before the answer
    hang,       // done, and never answered
    goaway,     // answered, and all connections are asked to leave
    freeze,     // no connection moves a byte any more, and none is closed: half-open
    expire,     // 410: of a watch as an event
    duplicate,  // the watch's event comes twice
    reorder     // the watch's event comes after the next one
};

struct fault_rule {
    // Of the requests (of a watch: events, for the last two actions) that fit.
    enum class frequency : std::uint8_t { always, percent, every, first };
    frequency often = frequency::always;
    std::uint64_t number = 0;
    std::string verb = "*";      // get, list, watch, create, update, patch, delete
    std::string resource = "*";  // plural
    fault_action action = fault_action::delay;
    std::chrono::milliseconds delay{};
    int code = 0;
    int retry_after_seconds = 0;

    [[nodiscard]] bool of_events() const {
        return action == fault_action::duplicate || action == fault_action::reorder;
    }
};

// Rules at line ends or semicolons: "[always | once | N% | every N | first N] VERB RESOURCE ACTION", with * for any
// verb or resource and the actions "delay 50ms", "status 429 retry-after 1", drop, hang, goaway, freeze, expire,
// duplicate, reorder. # begins a comment. Errors name the line.
[[nodiscard]] base::result<std::vector<fault_rule>> read_faults(std::string_view text);

class faults {
   public:
    faults(std::vector<fault_rule> rules, std::uint64_t seed);

    struct verdict {
        std::chrono::milliseconds delay{};
        const fault_rule* rule = nullptr;  // the first that strikes, delays apart
    };
    [[nodiscard]] verdict judge(std::string_view verb, std::string_view resource);
    // For an event of a watch: what strikes, if anything.
    [[nodiscard]] std::optional<fault_action> judge_event(std::string_view resource);
    [[nodiscard]] bool empty() const { return rules_.empty(); }
    [[nodiscard]] bool uses(fault_action what) const;
    [[nodiscard]] std::uint64_t struck() const { return struck_; }

   private:
    struct counted {
        fault_rule rule;
        std::uint64_t met = 0;
    };
    [[nodiscard]] bool strikes(counted& each);

    std::vector<counted> rules_;
    base::random_source random_;
    std::uint64_t struck_ = 0;
};

// The events of one watch on their way, with what the faults do to them.
class event_faults {
   public:
    event_faults(faults& by, std::string resource) : by_(&by), resource_(std::move(resource)) {}
    // Appends what is to be sent now.
    void pass(std::string line, std::string& out);
    // What was held back comes after all, when nothing follows.
    void flush(std::string& out);

   private:
    faults* by_;
    std::string resource_;
    std::string held_;
};

}  // namespace cotrain::sim
