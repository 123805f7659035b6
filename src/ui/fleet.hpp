// The TrainJobs of a cluster as rows of a list, each with the revision of its last change. Pure.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ui/wire.hpp"

namespace cotrain::ui {

// Further jobs are not kept.
inline constexpr std::size_t jobs_max = 50'000;
// Deletions that are remembered: a page that missed more of them gets the whole list again.
inline constexpr std::size_t gone_max = 5'000;

// What a TrainJob says of itself. Fields of its status that its controller does not write are not set.
struct job_facts {
    std::string id{};
    std::string runtime{};
    std::string queue{};
    std::string state{};    // status.state
    std::string message{};  // status.message, else that of the condition that tells most
    unix_seconds created = 0;
    unix_seconds started = 0;
    unix_seconds ended = 0;
    std::optional<std::int64_t> nodes_desired{};  // status.nodes
    std::optional<std::int64_t> nodes_ready{};
    std::optional<std::int64_t> restarts{};
    std::int64_t nodes_asked = 0;  // spec.trainer.numNodes
    std::int64_t gpus_each = 0;    // spec.trainer.resourcesPerNode
    bool suspend = false;
    bool complete = false;
    bool failed = false;
    bool troubled = false;  // a condition says that it cannot go on as it is
};

// What its JobSet says.
struct set_facts {
    std::int64_t nodes = 0;  // Pods of all replicated jobs but initializers
    std::int64_t ready = 0;
    std::int64_t gpus = 0;
    std::int64_t active = 0;  // Jobs
    std::int64_t restarts = 0;
    bool suspend = false;
    bool all_up = false;  // every replica of those is ready or has succeeded

    bool operator==(const set_facts&) const = default;
};

// The row of a job: its own word where there is one, else what its conditions and its JobSet come to.
[[nodiscard]] job_row make_row(std::string_view ns, std::string_view name, const job_facts& job, const set_facts* set);

class fleet {
   public:
    using moment = std::chrono::steady_clock::time_point;
    enum class part : std::uint8_t { job, set };

    void put_job(std::string_view ns, std::string_view name, job_facts facts, moment now);
    void put_set(std::string_view ns, std::string_view name, set_facts facts, moment now);
    void remove(part which, std::string_view ns, std::string_view name);
    // Of a relist: what is not put until its end is gone.
    void begin_relist(part which);
    void end_relist(part which);
    // From now on what is new counts as seen live.
    void live(part which) { live_[index(which)] = true; }

    [[nodiscard]] std::uint64_t revision() const { return revision_; }
    [[nodiscard]] std::size_t jobs() const { return jobs_; }
    // There are more jobs than are kept.
    [[nodiscard]] bool full() const { return full_; }

    // What happened after a revision, at most so many rows.
    struct changes {
        bool reset = false;  // too much was forgotten: these are the first rows of all
        bool more = false;   // ask again, after `upto`
        std::uint64_t upto = 0;
        std::vector<const job_row*> rows;  // until the fleet changes
        std::vector<std::string> gone;
    };
    [[nodiscard]] changes since(std::uint64_t revision, std::size_t rows_max) const;

    // How many jobs are in each state, and the newest of all.
    struct summary {
        std::vector<state_count> states;
        std::vector<const job_row*> newest;  // until the fleet changes
    };
    [[nodiscard]] summary sum_up(std::size_t rows_max) const;

   private:
    struct entry {
        std::string key;
        std::optional<job_facts> job;
        std::optional<set_facts> set;
        std::uint64_t passes[2] = {0, 0};  // when each part was put last
        std::optional<moment> seen{};      // the job, live
        job_row row{};
        std::uint64_t revision = 0;
    };
    using place = std::list<entry>::iterator;
    struct goner {
        std::uint64_t revision = 0;
        std::string id;
    };

    [[nodiscard]] static std::size_t index(part which) { return which == part::job ? 0 : 1; }
    [[nodiscard]] entry* open(std::string_view ns, std::string_view name);
    void refresh(place at);
    void drop(place at, part which);
    void forget_row(entry& of);

    std::list<entry> entries_;  // by revision, the last change at the end
    std::unordered_map<std::string, place> by_key_;
    std::deque<goner> gone_;
    std::uint64_t revision_ = 1;
    std::uint64_t forgotten_ = 0;  // the last deletion that is not remembered
    std::uint64_t passes_[2] = {1, 1};
    bool live_[2] = {false, false};
    std::size_t jobs_ = 0;
    bool full_ = false;
};

}  // namespace cotrain::ui
