// Texts, uids and the store, against simple models and by their promises.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/random.hpp"
#include "support/watch_samples.hpp"
#include "watch/intake.hpp"
#include "watch/object_store.hpp"

namespace cotrain::watch {
namespace {

TEST(text_table, keeps_each_text_once_while_it_is_used) {
    base::random_source random(5);
    text_table table;
    std::map<std::string, std::pair<text_id, int>> expected;
    for (int i = 0; i < 100'000; ++i) {
        const auto n = random.next() % 2000;
        const std::string text = std::to_string(n) + std::string(n % 700, 'x');
        const auto it = expected.find(text);
        if (random.next() % 2 == 0) {
            const text_id id = table.intern(text);
            ASSERT_EQ(table.view(id), text);
            if (it != expected.end()) {
                ASSERT_EQ(id, it->second.first);
                ++it->second.second;
            } else {
                expected[text] = {id, 1};
            }
        } else if (it != expected.end()) {
            ASSERT_EQ(table.view(it->second.first), text);
            ASSERT_EQ(table.find(text), it->second.first);
            table.release(it->second.first);
            if (--it->second.second == 0) {
                expected.erase(it);
                ASSERT_EQ(table.find(text), no_text);
            }
        }
        ASSERT_EQ(table.size(), expected.size());
    }
    for (const auto& [text, use] : expected) ASSERT_EQ(table.view(use.first), text);
    EXPECT_EQ(table.intern(""), no_text);
    const text_id cut = table.intern(std::string(10'000, 'y'));
    EXPECT_EQ(table.view(cut).size(), text_bytes_max);
}

TEST(uid, goes_to_numbers_and_back) {
    text_table texts;
    for (const std::string text : {"6f1c9a52-8a7e-4d0b-9d5c-0123456789ab", "00000000-0000-0000-0000-000000000001"}) {
        const uid u = make_uid(texts, text);
        EXPECT_EQ(to_text(texts, u), text);
        EXPECT_EQ(find_uid(texts, text), u);
        EXPECT_EQ(texts.size(), 0U);
    }
    for (const std::string text :
         {"u-1", "6F1C9A52-8A7E-4D0B-9D5C-0123456789AB", "ffffffff-ffff-ffff-ffff-ffffffffffff",
          "00000000-0000-0000-0000-000000000000", "6f1c9a52-8a7e-4d0b-9d5c-0123456789a"}) {
        EXPECT_TRUE(find_uid(texts, text).empty());
        const uid u = make_uid(texts, text);
        EXPECT_EQ(to_text(texts, u), text);
        EXPECT_EQ(find_uid(texts, text), u);
        release_uid(texts, u);
        EXPECT_EQ(texts.size(), 0U);
    }
    EXPECT_TRUE(make_uid(texts, "").empty());
}

TEST(time_seconds, reads_what_the_server_writes) {
    EXPECT_EQ(time_seconds("1970-01-01T00:00:01Z"), 1U);
    EXPECT_EQ(time_seconds("2026-05-04T10:11:12Z"), 1'777'889'472U);
    EXPECT_EQ(time_seconds(""), 0U);
    EXPECT_EQ(time_seconds("2026-13-04T10:11:12Z"), 0U);
    EXPECT_EQ(time_seconds("2026-05-04T25:11:12Z"), 0U);
    EXPECT_EQ(time_seconds("2026-05-0xT10:11:12Z"), 0U);
}

// TrainJobs and JobSets as the informers will feed them.
struct stores : testing::Test {
    text_table texts;
    object_store jobs{texts};
    object_store sets{texts};
    projector project;
    train_job_parts job_parts;
    job_set_parts set_parts;

    object_store::outcome put(const test::sample_job& job) {
        const std::string text = test::running_train_job(job);
        object_view o;
        EXPECT_TRUE(decode_object(text, o, &job_parts));
        return jobs.upsert(project.train_job(o, job_parts));
    }
    object_store::outcome put_set(const test::sample_job& job, std::string version, std::string id = "set-uid") {
        const std::string text = test::job_set_of(job, id, version);
        object_view o;
        EXPECT_TRUE(decode_object(text, o, &set_parts));
        return sets.upsert(project.job_set(o, set_parts));
    }
};

TEST_F(stores, keep_what_was_decoded) {
    test::sample_job job;
    job.suspend = true;
    const auto [at, changes] = put(job);
    EXPECT_EQ(changes, added);
    const object_record* const r = jobs.get(at);
    ASSERT_NE(r, nullptr);
    EXPECT_EQ(texts.view(r->key), "team-a/torch-000123");
    EXPECT_EQ(to_text(texts, r->id), job.uid);
    EXPECT_EQ(r->version, 81234U);
    EXPECT_EQ(r->created, time_seconds("2026-05-04T10:11:12Z"));
    EXPECT_TRUE(r->suspend);
    EXPECT_FALSE(r->terminal());
    const object_body* const b = jobs.body(at);
    ASSERT_NE(b, nullptr);
    EXPECT_TRUE(b->spec().starts_with(R"({"managedBy":)"));
    EXPECT_TRUE(b->spec().ends_with(R"("memory":"32Gi"}}}})"));
    EXPECT_FALSE(r->elsewhere);
    ASSERT_EQ(b->conditions().size(), 1U);
    EXPECT_EQ(texts.view(b->conditions()[0].type), "Suspended");
    EXPECT_EQ(texts.view(b->conditions()[0].reason), "Suspended");
    EXPECT_EQ(texts.view(b->conditions()[0].message), "TrainJob is suspended");
    EXPECT_EQ(b->conditions()[0].last_transition, time_seconds("2026-05-04T10:11:13Z"));
    ASSERT_EQ(b->counts().size(), 1U);
    EXPECT_EQ(b->counts()[0].active, 4);
    EXPECT_EQ(texts.view(b->counts()[0].name), "node");
    EXPECT_EQ(jobs.find("team-a", "torch-000123"), at);
    EXPECT_EQ(jobs.find("team-b", "torch-000123"), std::nullopt);
}

TEST_F(stores, say_what_changed) {
    test::sample_job job;
    const handle at = put(job).at;
    job.resource_version = "81235";  // managedFields moved, say
    EXPECT_EQ(put(job).changes, nothing);
    EXPECT_EQ(jobs.get(at)->version, 81235U);
    job.resource_version = "81236";
    job.active = 3;
    EXPECT_EQ(put(job).changes, status_changed);
    job.resource_version = "81237";
    job.runtime = "other";
    EXPECT_EQ(put(job).changes, spec_changed);
    job.resource_version = "81238";
    job.active = 2;
    job.suspend = true;
    const auto last = put(job);
    EXPECT_EQ(last.changes, spec_changed | status_changed);
    EXPECT_EQ(last.at, at);
}

TEST_F(stores, do_not_go_back_in_time) {
    test::sample_job job;
    const handle at = put(job).at;
    job.resource_version = "81233";
    job.suspend = true;
    EXPECT_EQ(put(job).changes, nothing);
    EXPECT_FALSE(jobs.get(at)->suspend);
}

TEST_F(stores, tell_a_namesake_from_the_object_itself) {
    test::sample_job job;
    const handle first = put(job).at;
    job.uid = "6f1c9a52-8a7e-4d0b-9d5c-00000000ffff";
    job.resource_version = "90000";
    const auto second = put(job);
    EXPECT_EQ(second.changes, added | replaced);
    EXPECT_EQ(jobs.get(first), nullptr);
    EXPECT_NE(jobs.get(second.at), nullptr);
    EXPECT_FALSE(jobs.remove(job.ns, job.name, test::sample_job{}.uid));
    EXPECT_EQ(jobs.size(), 1U);
    EXPECT_TRUE(jobs.remove(job.ns, job.name, job.uid));
    EXPECT_EQ(jobs.get(second.at), nullptr);
    EXPECT_EQ(jobs.size(), 0U);
}

TEST_F(stores, keep_the_status_of_a_finished_job_without_its_spec) {
    test::sample_job job;
    job.terminal = "Complete";
    const handle at = put(job).at;
    const object_record* const r = jobs.get(at);
    EXPECT_TRUE(r->complete);
    EXPECT_EQ(r->finished, time_seconds("2026-05-04T11:12:13Z"));
    ASSERT_NE(jobs.body(at), nullptr);
    EXPECT_TRUE(jobs.body(at)->spec_left_out);
    EXPECT_TRUE(jobs.body(at)->spec().empty());
    EXPECT_FALSE(jobs.body(at)->conditions().empty());
    job.resource_version = "81240";
    EXPECT_EQ(put(job).changes, nothing);

    // The JobSet says the same counts: nothing to fold back. Then it says others.
    const handle set = put_set(job, "5").at;
    EXPECT_EQ(sets.counts_print(*sets.get(set)), jobs.counts_print(*r));
    EXPECT_EQ(put_set(job, "6").changes, nothing);
    job.active = 0;
    EXPECT_EQ(put_set(job, "7").changes, status_changed);
    EXPECT_NE(sets.counts_print(*sets.get(set)), jobs.counts_print(*r));
    job.terminal.clear();
    job.resource_version = "81250";
    put(job);
    EXPECT_FALSE(jobs.body(at)->spec_left_out) << "it goes on after all";
    EXPECT_FALSE(jobs.body(at)->spec().empty());
}

TEST_F(stores, find_by_runtime_and_by_owner) {
    for (int i = 0; i < 30; ++i) {
        test::sample_job job;
        job.name = "job-" + std::to_string(i);
        job.uid = "uid-" + std::to_string(i % 10);
        job.runtime = i % 3 == 0 ? "a" : "b";
        put(job);
        put_set(job, "1", "set-" + std::to_string(i));
    }
    const auto count = [&](std::string_view runtime) {
        int n = 0;
        jobs.for_each_of(texts.find(runtime_key("ClusterTrainingRuntime", "team-a", runtime)),
                         [&n](handle, const object_record&) { ++n; });
        return n;
    };
    EXPECT_EQ(count("a"), 10);
    EXPECT_EQ(count("b"), 20);
    EXPECT_EQ(count("c"), 0);
    test::sample_job moved;
    moved.name = "job-0";
    moved.uid = "uid-0";
    moved.runtime = "b";
    moved.resource_version = "99999";
    EXPECT_EQ(put(moved).changes, spec_changed);
    EXPECT_EQ(count("a"), 9);
    EXPECT_EQ(count("b"), 21);
    for (int i = 0; i < 30; i += 2) jobs.remove("team-a", "job-" + std::to_string(i), {});
    EXPECT_EQ(count("a") + count("b"), 15);

    std::vector<std::string> owned;
    sets.for_each_of(texts.find("team-a/job-7"), [&](handle, const object_record& r) {
        EXPECT_EQ(to_text(texts, r.owner), "uid-7");
        owned.emplace_back(texts.view(r.key));
    });
    EXPECT_THAT(owned, testing::ElementsAre("team-a/job-7"));
}

TEST_F(stores, children_with_other_names_belong_to_their_owner) {
    const std::string text =
        R"({"metadata":{"name":"job-mpi-hostfile","namespace":"n","uid":"c","ownerReferences":[)"
        R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":"job","uid":"u",)"
        R"("controller":true}]}})";
    object_view o;
    ASSERT_TRUE(decode_object(text, o));
    EXPECT_TRUE(owned_by_train_job(o));
    const handle at = sets.upsert(project.metadata(o)).at;
    int found = 0;
    sets.for_each_of(sets.get(at)->group, [&](handle h, const object_record& r) {
        EXPECT_EQ(h, at);
        EXPECT_EQ(r.owner, find_uid(texts, "u"));
        ++found;
    });
    EXPECT_EQ(found, 1);
    EXPECT_EQ(texts.view(sets.get(at)->group), "n/job");
}

TEST_F(stores, sweep_only_what_a_whole_relist_did_not_show) {
    test::sample_job job;
    for (const char* name : {"a", "b", "c"}) {
        job.name = name;
        put(job);
    }
    jobs.begin_relist();
    job.name = "a";
    put(job);
    jobs.begin_relist();  // the first try broke off: a has to show again
    job.name = "b";
    put(job);
    job.name = "d";
    put(job);
    std::set<std::string> gone;
    EXPECT_EQ(jobs.sweep([&](const object_record& r) { gone.emplace(texts.view(r.key)); }), 2U);
    EXPECT_EQ(gone, (std::set<std::string>{"team-a/a", "team-a/c"}));
    jobs.begin_relist();
    job.name = "b";
    put(job);
    EXPECT_EQ(jobs.sweep([](const object_record&) {}), 1U);
    EXPECT_EQ(jobs.size(), 1U);
}

// Pictures of namespaces come and go in any order, each as often as it likes: none touches another's objects.
TEST_F(stores, sweep_each_namespace_by_its_own_relists) {
    const std::vector<std::string> spaces{"a", "aa", "b"};
    base::random_source random(7);
    std::map<std::string, std::set<std::string>> there;  // as the store has to have it
    std::map<std::string, std::set<std::string>> shown;
    const auto show = [&](const std::string& ns, const std::string& name) {
        test::sample_job job;
        job.ns = ns;
        job.name = name;
        put(job);
        there[ns].insert(name);
        shown[ns].insert(name);
    };
    for (int i = 0; i < 5000; ++i) {
        const std::string ns = spaces[random.next() % spaces.size()];
        switch (random.next() % 4) {
            case 0:
                jobs.begin_relist(ns);
                shown[ns].clear();
                break;
            case 1:
                static_cast<void>(
                    jobs.sweep([&](const object_record& r) { EXPECT_TRUE(texts.view(r.key).starts_with(ns + "/")); },
                               ~std::uint64_t{0}, ns));
                there[ns] = shown[ns];
                break;
            default: show(ns, "job-" + std::to_string(random.next() % 8));
        }
        std::size_t count = 0;
        for (const std::string& each : spaces) {
            count += there[each].size();
            for (const std::string& name : there[each]) ASSERT_TRUE(jobs.find(each, name)) << each << "/" << name;
        }
        ASSERT_EQ(jobs.size(), count);
    }
}

// Everything that objects bring into the table of texts leaves with them.
TEST_F(stores, lose_no_text_and_no_object_under_chance) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        base::random_source random(seed);
        std::map<std::string, std::pair<handle, test::sample_job>> expected;
        int version = 1;
        for (int i = 0; i < 2000; ++i) {
            test::sample_job job;
            job.name = "job-" + std::to_string(random.next() % 50);
            const auto known = expected.find(job.name);
            if (random.next() % 4 == 0) {
                const bool there = jobs.remove(job.ns, job.name, {});
                ASSERT_EQ(there, known != expected.end());
                if (there) expected.erase(known);
                continue;
            }
            job.uid = random.next() % 5 == 0 ? "odd-" + std::to_string(i) : test::sample_job{}.uid;
            if (known != expected.end() && random.next() % 3 != 0) job.uid = known->second.second.uid;
            job.resource_version = std::to_string(++version);
            job.runtime = "runtime-" + std::to_string(random.next() % 4);
            job.active = static_cast<int>(random.next() % 3);
            if (random.next() % 3 == 0) job.terminal = random.next() % 2 == 0 ? "Complete" : "Failed";
            const auto [at, changes] = put(job);
            const bool fresh = known == expected.end() || known->second.second.uid != job.uid;
            ASSERT_EQ((changes & added) != 0, fresh);
            if (!fresh) {
                ASSERT_EQ(known->second.first, at);
            }
            expected[job.name] = {at, job};
        }
        ASSERT_EQ(jobs.size(), expected.size());
        std::map<std::string, int> groups;
        for (const auto& [name, item] : expected) {
            const object_record* const r = jobs.get(item.first);
            ASSERT_NE(r, nullptr);
            ASSERT_EQ(r->complete, item.second.terminal == "Complete");
            ASSERT_EQ(r->failed, item.second.terminal == "Failed");
            ASSERT_EQ(texts.view(r->key), "team-a/" + name);
            ASSERT_EQ(to_text(texts, r->id), item.second.uid);
            ++groups[runtime_key("ClusterTrainingRuntime", {}, item.second.runtime)];
        }
        for (const auto& [key, size] : groups) {
            int n = 0;
            jobs.for_each_of(texts.find(key), [&n](handle, const object_record&) { ++n; });
            ASSERT_EQ(n, size);
        }
        for (const auto& [name, item] : expected) jobs.remove(item.first);
        ASSERT_EQ(texts.size(), 0U);
    }
}

}  // namespace
}  // namespace cotrain::watch
