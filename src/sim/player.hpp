// Plays the JobSet controller, the scheduler and the kubelets: JobSets get Jobs and Pods, become ready, and end, by a
// script. Pure: time is passed in, writes go to the cluster.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "base/time.hpp"
#include "doc/edit.hpp"
#include "sim/cluster.hpp"

namespace cotrain::sim {

// On a JobSet, or on what owns it: a script of its own.
inline constexpr std::string_view script_annotation = "playground.cotrain/script";
// Jobs with more Pods than this get none as objects; their counts are right all the same.
inline constexpr std::int64_t shown_pods_max = 512;

struct player_script {
    enum class ending : std::uint8_t { succeed, fail, never };
    std::chrono::milliseconds start{100};  // until Jobs and their Pods exist
    std::chrono::milliseconds ready{300};  // until all Pods of a Job run
    std::chrono::milliseconds run{1500};   // until those end that the success policy names
    ending end = ending::succeed;
    bool pods = true;  // Jobs and Pods as objects, beside the JobSet's status
};
// Changes and steps that one act() looks at.
inline constexpr int act_items_max = 512;

// "start 100ms, ready 1s, run 30s, fail", in any order, over `defaults`; also succeed, never, pods, no-pods.
[[nodiscard]] base::result<player_script> read_script(std::string_view text, const player_script& defaults = {});

class player {
   public:
    using time = std::chrono::steady_clock::time_point;

    player(cluster& of, player_script script, std::uint64_t seed);

    // Does what is due, and takes notice of what changed, so much of it; whether it wrote anything.
    bool act(time now, base::seconds_time wall);
    // When it has to act next although nothing changes.
    [[nodiscard]] std::optional<time> due() const;
    // Up to which version of the cluster's objects it has looked.
    [[nodiscard]] std::uint64_t seen() const { return seen_; }

   private:
    enum class stage : std::uint8_t { waiting, starting, pending, ready, done };
    struct dependency {
        std::string name;
        bool complete = false;  // else ready
    };
    struct part {  // a replicated job
        std::string name;
        std::int64_t replicas = 1;
        std::int64_t pods = 1;  // of each replica
        std::vector<dependency> waits_for{};
        bool ends_it = true;  // the success policy names it
        stage at = stage::waiting;
        [[nodiscard]] bool shown() const { return replicas * pods <= shown_pods_max; }
    };
    struct played {
        object_id id;
        std::string uid;
        player_script script;
        std::vector<part> parts;
        bool suspended = false;
        bool ended = false;
        std::uint64_t round = 0;  // grows with each suspension: what was planned before is void
    };
    struct step {
        time at;
        std::string uid;
        std::size_t which = 0;
        std::uint64_t round = 0;
        bool operator>(const step& other) const { return at > other.at; }
    };

    void notice(const change& what, time now);
    void take(const record& state, time now);
    void advance(played& set, std::size_t which, time now);
    void begin_parts(played& set, time now);
    void end(played& set, std::string_view condition);
    void plan(const played& set, std::size_t which, time at);
    void suspend(played& set);

    // Writing.
    void make_jobs(const played& set, const part& of);
    void make_pod(const played& set, const part& of, std::int64_t replica, std::int64_t index, const record& job,
                  doc::ref pod_template);
    void show_state(const played& set, const part& of, stage at);
    void remove_jobs(const played& set, const part& of);
    void write_status(const played& set, std::string_view condition = {});
    void write_gang(const played& set, std::string_view phase);
    void patch_status(const object_id& what, doc::ref status);
    [[nodiscard]] const kind* type(std::string_view group, std::string_view version, std::string_view plural) const {
        return cluster_.types().find(group, version, plural);
    }

    cluster& cluster_;
    player_script script_;
    base::random_source random_;
    const kind* job_sets_;
    std::uint64_t seen_ = 0;
    base::seconds_time wall_{};
    bool wrote_ = false;
    std::unordered_map<std::string, played> sets_;
    std::priority_queue<step, std::vector<step>, std::greater<>> steps_;
};

}  // namespace cotrain::sim
