// Whichever allocation fails while an object is taken in: the next time it is taken in whole, and nothing is left
// behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "support/counted_memory.hpp"
#include "support/watch_samples.hpp"
#include "watch/scripted_api.hpp"
#include "watch/taking.hpp"

namespace cotrain::watch {
namespace {

constexpr std::string_view set_uid = "0a1b2c3d-0000-4000-8000-000000000001";

// What a store holds, to be compared with what another does.
std::string written(const text_table& texts, const object_store& store) {
    std::string out;
    store.for_each([&](handle h, const object_record& r) {
        out += std::string(texts.view(r.key)) + " " + to_text(texts, r.id) + " of " + std::string(texts.view(r.group)) +
               " " + to_text(texts, r.owner) + " " + std::to_string(r.version) + " " + std::to_string(r.print);
        unsigned in_group = 0;
        store.for_each_of(r.group, [&](handle, const object_record&) { ++in_group; });
        out += " among " + std::to_string(in_group);
        if (const object_body* const body = store.body(h); body != nullptr) {
            out += " with " + std::string(body->spec()) + std::string(body->extra());
            for (const stored_condition& c : body->conditions())
                out.append(" ").append(texts.view(c.type)).append("=").append(texts.view(c.message));
            for (const stored_counts& c : body->counts()) out.append(" ").append(texts.view(c.name));
        }
        out += "\n";
    });
    return out;
}

struct step_of {
    kind of;
    std::string object;
    bool gone = false;
};

// The lives of some jobs and their JobSets: new ones, changed ones, a namesake, a child of another owner, ends.
std::vector<step_of> lives() {
    std::vector<step_of> all;
    int version = 100;
    const auto next = [&version](test::sample_job& job) -> const test::sample_job& {
        job.resource_version = std::to_string(++version);
        return job;
    };
    for (int n = 0; n < 12; ++n) {
        test::sample_job job;
        job.name = "job-" + std::to_string(n);
        all.push_back({kind::train_job, test::new_train_job(next(job))});
        all.push_back({kind::train_job, test::running_train_job(next(job))});
        all.push_back({kind::job_set, test::job_set_of(job, set_uid, std::to_string(++version))});
        if (n % 3 == 0) job.terminal = "Complete";
        if (n % 3 == 1) job.uid = "another-" + std::to_string(n);
        all.push_back({kind::train_job, test::running_train_job(next(job))});
        if (n % 4 == 0) all.push_back({kind::train_job, test::running_train_job(job), true});
    }
    for (int n = 0; n < 40; ++n) {
        const std::string owner = "owner-" + std::to_string(n % 5);
        all.push_back({kind::job_set, plain("set-" + std::to_string(n), "u-" + std::to_string(n), n + 1, owner)});
    }
    return all;
}

// Stores of both kinds that keep what has room, as the operator's do.
struct world {
    text_table texts;
    object_store jobs{texts, {.namespace_bytes = 300, .all_bytes = 600}, object_store::bodies_without_specs{16}};
    object_store sets{texts, {.namespace_bytes = 2000, .all_bytes = 4000}};
    heard listener{texts};
    intake of_jobs{kind::train_job, jobs, texts, listener, base::null_logger()};
    intake of_sets{kind::job_set, sets, texts, listener, base::null_logger()};

    void take(const step_of& what) {
        object_view view;
        intake& in = what.of == kind::train_job ? of_jobs : of_sets;
        ASSERT_TRUE(decode_object(what.object, view, in.parts()));
        what.gone ? in.remove(view) : in.upsert(view);
    }
    [[nodiscard]] bool lost() { return of_jobs.take_lost() || of_sets.take_lost(); }
    [[nodiscard]] std::string all() const { return written(texts, jobs) + written(texts, sets); }
};

TEST(memory, that_is_missing_for_one_object_is_asked_for_again) {
    const std::vector<step_of> steps = lives();
    world right;
    for (const step_of& s : steps) right.take(s);
    const std::string expected = right.all();
    bool failed = true;
    unsigned told = 0;
    for (std::uint64_t n = 1; failed; ++n) {
        world w;
        {
            const test::failing_allocation at(n);
            for (const step_of& s : steps) {
                try {
                    w.take(s);
                } catch (const std::bad_alloc&) {  // where it was decoded
                    w.take(s);
                }
                if (!w.lost()) continue;
                ++told;
                w.take(s);
                ASSERT_FALSE(w.lost());
            }
            failed = at.failed();
        }
        // What there was no memory to decide is decided with the next change.
        test::sample_job last;
        w.take({kind::train_job, test::new_train_job(last)});
        w.take({kind::train_job, test::new_train_job(last), true});
        w.take({kind::job_set, plain("last", "u-last", 9999, "owner")});
        w.take({kind::job_set, plain("last", "u-last", 9999, "owner"), true});
        ASSERT_EQ(w.all(), expected) << "allocation " << n;
        for (const step_of& s : steps) w.take({s.of, s.object, true});
        ASSERT_EQ(w.jobs.size() + w.sets.size(), 0U);
        w.listener.lines.clear();
        ASSERT_EQ(w.texts.size(), 0U) << "a use of a text is left behind, allocation " << n;
    }
    EXPECT_EQ(told > 100, test::counts_memory());
}

TEST(informer, lists_again_what_there_was_no_memory_for) {
    const auto all = streams({line("ADDED", object("a", 1)), bookmark(1, true)}, step::end::held);
    scripted here(kind::limit_range, {all, all});
    here.options.timing.retry_after_max = std::chrono::seconds(0);
    here.listener.fails_once = true;
    here.run([](scripted& s, informer& watcher) -> awaitable<void> {
        co_await s.listener.until("LimitRange synced");
        EXPECT_TRUE(watcher.in_sync());
        EXPECT_EQ(s.api.seen.size(), 2U);
        EXPECT_TRUE(s.path(1).contains("sendInitialEvents=true")) << s.path(1);
    });
}

}  // namespace
}  // namespace cotrain::watch
