// The rows of the list: what a job comes to, and that a page that follows the changes ends with the rows that are
// there.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/random.hpp"
#include "ui/fleet.hpp"

namespace cotrain {
namespace {

using ui::fleet;
using part = fleet::part;

std::string state_of(const ui::job_facts& job, const ui::set_facts* set) {
    return ui::make_row("ns", "a", job, set).state;
}

TEST(fleet, a_job_without_a_state_of_its_own_gets_one_from_conditions_and_its_job_set) {
    const ui::set_facts created{.nodes = 4};
    const ui::set_facts starting{.nodes = 4, .ready = 2, .active = 2};
    const ui::set_facts running{.nodes = 4, .ready = 4, .active = 2, .all_up = true};
    const ui::set_facts again{.nodes = 4, .ready = 2, .active = 2, .restarts = 1};
    const ui::set_facts held{.nodes = 4, .suspend = true};
    EXPECT_EQ(state_of({}, nullptr), "Pending");
    EXPECT_EQ(state_of({}, &created), "Pending");
    EXPECT_EQ(state_of({}, &held), "Pending");
    EXPECT_EQ(state_of({}, &starting), "Starting");
    EXPECT_EQ(state_of({}, &running), "Running");
    EXPECT_EQ(state_of({}, &again), "Restarting");
    EXPECT_EQ(state_of({.suspend = true}, nullptr), "Suspended");
    EXPECT_EQ(state_of({.suspend = true}, &running), "Suspending");
    EXPECT_EQ(state_of({.troubled = true}, &created), "Blocked");
    EXPECT_EQ(state_of({.complete = true}, &running), "Complete");
    EXPECT_EQ(state_of({.failed = true, .troubled = true}, &running), "Failed");
    EXPECT_EQ(state_of({.state = "Blocked", .complete = true}, &running), "Blocked") << "its own word wins";
}

TEST(fleet, counts_come_from_the_status_and_else_from_the_job_set) {
    const ui::set_facts set{.nodes = 8, .ready = 3, .gpus = 64, .active = 1, .restarts = 2};
    const ui::job_row derived = ui::make_row("ns", "a", {.nodes_asked = 5, .gpus_each = 1}, &set);
    EXPECT_EQ(derived.nodes, 8);
    EXPECT_EQ(derived.ready, 3);
    EXPECT_EQ(derived.restarts, 2);
    EXPECT_EQ(derived.gpus, 64);
    const ui::job_row told =
        ui::make_row("ns", "a", {.nodes_desired = 6, .nodes_ready = 1, .restarts = 9, .nodes_asked = 5}, &set);
    EXPECT_EQ(told.nodes, 6);
    EXPECT_EQ(told.ready, 1);
    EXPECT_EQ(told.restarts, 9);
    const ui::job_row alone = ui::make_row("ns", "a", {.nodes_asked = 5, .gpus_each = 2}, nullptr);
    EXPECT_EQ(alone.nodes, 5);
    EXPECT_EQ(alone.gpus, 10);
}

// What a page does with the changes.
struct page {
    std::map<std::string, ui::job_row> rows;
    std::uint64_t sent = 0;
    int resets = 0;

    // One message; whether more is to come.
    bool take(const fleet& from, std::size_t rows_max) {
        const fleet::changes all = from.since(sent, rows_max);
        EXPECT_LE(all.rows.size(), rows_max);
        if (all.reset) rows.clear();
        resets += all.reset ? 1 : 0;
        for (const std::string& id : all.gone) rows.erase(id);
        for (const ui::job_row* const each : all.rows) rows[each->id] = *each;
        sent = all.upto;
        return all.more;
    }
    void follow(const fleet& from, std::size_t rows_max) {
        while (take(from, rows_max)) {
        }
    }
};

class random_fleet {
   public:
    explicit random_fleet(std::uint64_t seed) : random_(seed) {}

    // Something happens to one of a few jobs, or all are listed again.
    void step() {
        const std::string name = "job-" + std::to_string(random_.next() % 7);
        switch (random_.next() % 8) {
            case 0:
            case 1:
            case 2: put_job(name, false); break;
            case 3: put_job(name, true); break;
            case 4: all.put_set("ns", name, {.nodes = 1 + below(5), .ready = below(3)}, {}); break;
            case 5: all.remove(part::set, "ns", name); break;
            case 6:
                all.remove(part::job, "ns", name);
                model_.erase(name);
                break;
            default: relist(); break;
        }
    }
    [[nodiscard]] std::map<std::string, std::string> ids() const { return model_; }

    fleet all;

   private:
    std::int64_t below(std::uint64_t n) { return static_cast<std::int64_t>(random_.next() % n); }
    // `anew`: it is another object of the same name.
    void put_job(const std::string& name, bool anew) {
        std::string& id = model_[name];
        if (id.empty() || anew) id = "uid-" + std::to_string(++uids_);
        all.put_job("ns", name, {.id = id, .message = "m" + std::to_string(below(3))}, {});
    }
    void relist() {
        all.begin_relist(part::job);
        for (auto each = model_.begin(); each != model_.end();) {
            if (random_.next() % 4 == 0) {
                each = model_.erase(each);
                continue;
            }
            put_job((each++)->first, false);
        }
        all.end_relist(part::job);
    }

    base::random_source random_;
    std::map<std::string, std::string> model_;  // name to uid
    int uids_ = 0;
};

TEST(fleet, a_page_that_follows_has_the_rows_that_are_there_however_far_it_lags) {
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        random_fleet it(seed);
        base::random_source pace(seed);
        page eager, lazy;
        for (int i = 0; i < 60; ++i) {
            it.step();
            eager.follow(it.all, 100);
            // In the middle of a snapshot, too.
            if (pace.next() % 5 == 0) static_cast<void>(lazy.take(it.all, 2));
        }
        lazy.follow(it.all, 2);
        std::map<std::string, std::string> had;
        for (const auto& [id, row] : eager.rows) had[row.name] = id;
        ASSERT_EQ(had, it.ids()) << "seed " << seed;
        ASSERT_EQ(lazy.rows, eager.rows) << "seed " << seed;
        ASSERT_EQ(it.all.jobs(), eager.rows.size());
        page fresh;
        fresh.follow(it.all, 3);
        ASSERT_EQ(fresh.rows, eager.rows) << "seed " << seed;
    }
}

TEST(fleet, what_changes_nothing_in_a_row_is_no_change) {
    fleet all;
    all.put_job("ns", "a", {.id = "1"}, {});
    all.put_set("ns", "a", {.nodes = 2}, {});
    const std::uint64_t before = all.revision();
    all.put_job("ns", "a", {.id = "1"}, {});
    all.put_set("ns", "a", {.nodes = 2}, {});
    EXPECT_EQ(all.revision(), before);
    EXPECT_TRUE(all.since(before, 10).rows.empty());
}

TEST(fleet, a_page_that_missed_more_deletions_than_are_kept_starts_anew) {
    fleet all;
    all.put_job("ns", "stays", {.id = "stays"}, {});
    page slow;
    slow.follow(all, 10);
    for (std::size_t i = 0; i <= ui::gone_max; ++i) {
        all.put_job("ns", "x", {.id = std::to_string(i)}, {});
        all.remove(part::job, "ns", "x");
    }
    slow.follow(all, 10);
    EXPECT_EQ(slow.resets, 2);
    ASSERT_EQ(slow.rows.size(), 1U);
    EXPECT_TRUE(slow.rows.contains("stays"));
}

TEST(fleet, keeps_no_more_jobs_than_its_bound_and_says_so) {
    fleet all;
    for (std::size_t i = 0; i < ui::jobs_max; ++i) all.put_job("ns", std::to_string(i), {.id = std::to_string(i)}, {});
    EXPECT_FALSE(all.full());
    all.put_job("ns", "one more", {.id = "one more"}, {});
    EXPECT_TRUE(all.full());
    EXPECT_EQ(all.jobs(), ui::jobs_max);
    all.begin_relist(part::job);
    all.end_relist(part::job);
    EXPECT_FALSE(all.full());
    EXPECT_EQ(all.jobs(), 0U);
}

TEST(fleet, sums_up_all_states_and_the_newest_jobs) {
    fleet all;
    for (int i = 0; i < 20; ++i)
        all.put_job("ns", std::to_string(i), {.id = std::to_string(i), .created = (i * 7) % 20, .failed = i % 4 == 0},
                    {});
    const fleet::summary sum = all.sum_up(3);
    ASSERT_EQ(sum.newest.size(), 3U);
    EXPECT_EQ(sum.newest[0]->created, 19);
    EXPECT_EQ(sum.newest[2]->created, 17);
    std::map<std::string, std::uint64_t> counts;
    for (const auto& [state, count] : sum.states) counts[state] = count;
    EXPECT_EQ(counts, (std::map<std::string, std::uint64_t>{{"Failed", 5}, {"Pending", 15}}));
}

TEST(fleet, measures_from_a_job_to_its_job_set_only_what_it_saw_itself) {
    using std::chrono::milliseconds;
    fleet all;
    all.put_job("ns", "old", {.id = "old"}, {});
    all.put_set("ns", "old", {}, fleet::moment(milliseconds(5)));
    all.live(part::job);
    all.live(part::set);
    all.put_job("ns", "new", {.id = "new"}, fleet::moment(milliseconds(10)));
    all.put_set("ns", "new", {}, fleet::moment(milliseconds(17)));
    all.put_set("ns", "new", {.nodes = 1}, fleet::moment(milliseconds(30)));
    page it;
    it.follow(all, 10);
    EXPECT_EQ(it.rows["old"].setMs, -1);
    EXPECT_EQ(it.rows["new"].setMs, 7);
}

}  // namespace
}  // namespace cotrain
