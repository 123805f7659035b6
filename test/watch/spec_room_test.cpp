// What is kept of specs follows from what there is: compared with a reckoning that knows nothing of the past.
#include "watch/spec_room.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "watch/informer.hpp"
#include "watch/taking.hpp"

namespace cotrain::watch {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using sizes = std::map<std::string, std::size_t>;  // by "namespace/name"

std::string namespace_of(const std::string& key) { return key.substr(0, key.find('/')); }

// The keys that are kept, from the sizes alone.
std::set<std::string> reckoned(const sizes& all, spec_bounds most) {
    std::map<std::string, std::vector<std::pair<std::size_t, std::string>>> by_namespace;
    for (const auto& [key, bytes] : all) by_namespace[namespace_of(key)].emplace_back(bytes, key);
    std::size_t share = most.namespace_bytes;
    for (;; share /= 2) {
        std::size_t used = 0;
        for (const auto& [ns, each] : by_namespace) {
            std::size_t total = 0;
            for (const auto& [bytes, key] : each) total += bytes;
            used += std::min(total, share);
        }
        if (used <= most.all_bytes) break;
    }
    std::set<std::string> kept;
    for (auto& [ns, each] : by_namespace) {
        std::ranges::sort(each);
        std::size_t sum = 0;
        for (const auto& [bytes, key] : each) {
            if ((sum += bytes) > share) break;
            kept.insert(key);
        }
    }
    return kept;
}

// A room, and the specs that somebody keeps by its word.
struct kept_specs {
    explicit kept_specs(spec_bounds most)
        : room(texts, most, {.drop = [this](text_id key) { held.erase(key); }, .wanted = [this] { ++told; }}) {}

    void put(const std::string& key, std::size_t bytes) {
        text_id id = texts.find(key);
        if (id == no_text) id = texts.intern(key);
        held.erase(id);
        room.put(id, bytes);
        if (room.holds(id)) held[id] = bytes;
        there[key] = bytes;
    }
    void erase(const std::string& key) {
        const text_id id = texts.find(key);
        held.erase(id);
        room.erase(id);
        texts.release(id);
        there.erase(key);
    }
    // As the operator does when it is told: until nothing is wanted.
    void read_again() {
        for (text_id next = no_text; (next = room.next_wanted(next)) != no_text;) {
            const std::string key(texts.view(next));
            put(key, there.at(key));
        }
    }
    [[nodiscard]] std::size_t bytes() const {
        std::size_t sum = 0;
        for (const auto& [id, size] : held) sum += size;
        return sum;
    }
    [[nodiscard]] std::set<std::string> keys(bool wanted_too) const {
        std::set<std::string> out;
        for (const auto& [key, size] : there) {
            const text_id id = texts.find(key);
            EXPECT_EQ(room.holds(id), held.contains(id)) << key;
            if (room.holds(id) || (wanted_too && room.wants(id))) out.insert(key);
        }
        return out;
    }

    text_table texts;
    spec_room room;
    std::map<text_id, std::size_t> held;
    sizes there;
    int told = 0;
};

TEST(spec_room, keeps_what_a_reckoning_from_nothing_would) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        base::random_source random(seed);
        const spec_bounds most{.namespace_bytes = 64 + random.next() % 2000, .all_bytes = 64 + random.next() % 6000};
        kept_specs specs(most);
        for (int step = 0; step < 1500; ++step) {
            const std::string key = "ns" + std::to_string(random.next() % 9) + "/" + std::to_string(random.next() % 12);
            const bool there = specs.there.contains(key);
            if (there && random.next() % 3 == 0) {
                specs.erase(key);
            } else {
                specs.put(key, random.next() % (random.next() % 5 == 0 ? 1500 : 60));
            }
            ASSERT_EQ(specs.keys(true), reckoned(specs.there, most)) << "seed " << seed << " step " << step;
            ASSERT_LE(specs.bytes(), most.all_bytes);
            ASSERT_LE(specs.bytes(), specs.room.bytes());
            ASSERT_EQ(specs.room.left_out(), specs.there.size() - specs.held.size());
            if (random.next() % 4 == 0) {
                specs.read_again();
                ASSERT_EQ(specs.keys(false), reckoned(specs.there, most));
                ASSERT_EQ(specs.bytes(), specs.room.bytes());
            }
        }
        for (const auto& [key, bytes] : sizes(specs.there)) specs.erase(key);
        EXPECT_EQ(specs.room.bytes(), 0U);
        EXPECT_EQ(specs.room.left_out(), 0U);
    }
}

TEST(spec_room, keeps_everything_that_fits_and_asks_for_nothing) {
    base::random_source random(3);
    kept_specs specs({.namespace_bytes = 1000, .all_bytes = 5000});
    for (int i = 0; i < 2000; ++i) {
        const std::string key = "ns" + std::to_string(random.next() % 5) + "/" + std::to_string(random.next() % 10);
        specs.put(key, random.next() % 100);
        ASSERT_EQ(specs.held.size(), specs.there.size());
    }
    EXPECT_EQ(specs.told, 0);
}

// As after a start: whichever order a list has, nothing has to be asked for once more.
TEST(spec_room, a_list_of_new_objects_in_any_order_leaves_nothing_to_be_read_again) {
    const spec_bounds most{.namespace_bytes = 300, .all_bytes = 700};
    base::random_source random(11);
    std::set<std::string> first;
    for (int round = 0; round < 50; ++round) {
        std::vector<std::pair<std::string, std::size_t>> list;
        for (std::size_t i = 0; i < 60; ++i)
            list.emplace_back("ns" + std::to_string(i % 6) + "/" + std::to_string(i), 7 * (i % 13) + 5);
        for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.next() % i]);
        kept_specs specs(most);
        for (const auto& [key, bytes] : list) specs.put(key, bytes);
        EXPECT_EQ(specs.told, 0);
        if (round == 0) first = specs.keys(false);
        EXPECT_EQ(specs.keys(false), first);
    }
    EXPECT_FALSE(first.empty());
}

TEST(spec_room, who_has_little_keeps_it_whatever_others_have) {
    kept_specs specs({.namespace_bytes = 8000, .all_bytes = 32'000});
    specs.put("small/one", 300);
    for (int ns = 0; ns < 60; ++ns)
        for (int i = 0; i < 8; ++i) specs.put("fat" + std::to_string(ns) + "/" + std::to_string(i), 1000);
    specs.put("small/two", 100);
    EXPECT_TRUE(specs.room.holds(specs.texts.find("small/one")));
    EXPECT_TRUE(specs.room.holds(specs.texts.find("small/two")));
    EXPECT_EQ(specs.bytes(), 400U) << "500 bytes a namespace hold none of 1000";
    const auto now = specs.room.about(specs.texts.find("fat0/0"));
    ASSERT_TRUE(now);
    EXPECT_EQ(now->namespace_bytes, 8000U);
    EXPECT_EQ(now->share_bytes, 500U);
    for (int ns = 0; ns < 59; ++ns)
        for (int i = 0; i < 8; ++i) specs.erase("fat" + std::to_string(ns) + "/" + std::to_string(i));
    EXPECT_GT(specs.told, 0);
    specs.read_again();
    EXPECT_EQ(specs.bytes(), 8400U);
}

// --- in a store ------------------------------------------------------------------------------------------------------

std::string runtime(std::string_view name, int version, std::size_t bytes, std::string_view finalizer = "") {
    std::string text = R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":"ns","uid":"u-)" +
                       std::string(name) + R"(","resourceVersion":")" + std::to_string(version) + "\"";
    if (!finalizer.empty()) text += R"(,"finalizers":[")" + std::string(finalizer) + R"("])";
    return text + R"(},"spec":")" + std::string(bytes - 2, 'x') + R"("})";
}

struct bounded_store : testing::Test {
    text_table texts;
    int wanted = 0;
    object_store store{texts, {.namespace_bytes = 1000, .all_bytes = 4000}, [this] { ++wanted; }};
    heard listener{texts};
    intake in{kind::training_runtime, store, texts, listener, base::null_logger()};

    void take(const std::string& object, bool gone = false, bool shown = true) {
        object_view view;
        ASSERT_TRUE(decode_object(object, view, in.parts()));
        gone ? in.remove(view) : in.upsert(view, shown);
    }
    [[nodiscard]] bool has_body(std::string_view name) const {
        const auto at = store.find("ns", name);
        return at && store.body(*at) != nullptr;
    }
    std::vector<std::string> said() { return std::exchange(listener.lines, {}); }
};

TEST_F(bounded_store, leaves_out_the_largest_and_takes_it_again_when_there_is_room) {
    take(runtime("a", 1, 600));
    take(runtime("b", 2, 500));
    EXPECT_TRUE(has_body("b"));
    EXPECT_FALSE(has_body("a")) << "the smaller one came later";
    EXPECT_LT(store.memory_bytes(), 64U << 10U);
    static_cast<void>(said());
    take(runtime("b", 2, 500), true);
    EXPECT_EQ(wanted, 1);
    EXPECT_FALSE(has_body("a")) << "nobody has its spec";
    static_cast<void>(said());
    take(runtime("a", 1, 600), false, false);
    EXPECT_TRUE(has_body("a"));
    EXPECT_THAT(said(), ElementsAre("TrainingRuntime ns/a changed spec"));
    take(runtime("a", 1, 600));
    EXPECT_THAT(said(), IsEmpty());
}

TEST_F(bounded_store, takes_what_is_left_out_from_a_list_of_the_same_versions) {
    take(runtime("a", 1, 600));
    take(runtime("b", 2, 500));
    in.begin_relist();
    take(runtime("a", 1, 600));
    in.end_relist("3");
    EXPECT_TRUE(wanted > 0 && !has_body("a")) << "b took the room until the relist was whole";
    in.begin_relist();
    take(runtime("a", 1, 600));
    in.end_relist("4");
    EXPECT_TRUE(has_body("a"));
    EXPECT_EQ(store.room()->left_out(), 0U);
}

TEST_F(bounded_store, knows_of_the_old_finalizer_of_what_is_left_out) {
    take(runtime("a", 1, 5000, "trainer.kubeflow.org/resource-in-use"));
    take(runtime("b", 2, 5000, "a.test/other"));
    EXPECT_FALSE(has_body("a"));
    EXPECT_TRUE(store.get(*store.find("ns", "a"))->held_back);
    EXPECT_FALSE(store.get(*store.find("ns", "b"))->held_back);
}

TEST_F(bounded_store, a_namesake_takes_the_place_of_what_was_kept) {
    take(runtime("a", 1, 900));
    std::string again = runtime("a", 5, 800);
    again.replace(again.find("u-a"), 3, "u-z");
    take(again);
    EXPECT_TRUE(has_body("a"));
    EXPECT_GE(store.room()->bytes(), 800U);
    EXPECT_LT(store.room()->bytes(), 900U);
    EXPECT_EQ(store.room()->left_out(), 0U);
}

// Jobs are worked on without their specs, too: those that are left out are read when a plan needs them.
struct bounded_jobs : testing::Test {
    text_table texts;
    object_store store{texts, {.namespace_bytes = 1000, .all_bytes = 4000}, object_store::bodies_without_specs{200}};
    heard listener{texts};
    intake in{kind::train_job, store, texts, listener, base::null_logger()};

    static std::string job(std::string_view name, int version, std::size_t bytes, std::string_view ends = "") {
        return plain(name, "u-" + std::string(name), version, "",
                     R"(,"spec":{"trainer":")" + std::string(bytes, 'x') +
                         R"("},"status":{"jobsStatus":[{"name":"node","ready":3}],"conditions":[{"type":"Suspended",)"
                         R"("status":"True","reason":"R","message":"it waits"})" +
                         std::string(ends) + "]}");
    }
    void take(const std::string& object, bool gone = false) {
        object_view view;
        ASSERT_TRUE(decode_object(object, view, in.parts()));
        gone ? in.remove(view) : in.upsert(view);
    }
    [[nodiscard]] bool has_spec(std::string_view name) const {
        const object_body* const body = store.body(*store.find("ns", name));
        EXPECT_EQ(texts.view(body->conditions()[0].message), "it waits");
        EXPECT_EQ(texts.view(body->counts()[0].name), "node");
        EXPECT_EQ(body->spec().empty(), body->spec_left_out);
        return !body->spec_left_out;
    }
    std::vector<std::string> said() { return std::exchange(listener.lines, {}); }
};

TEST_F(bounded_jobs, keep_all_but_their_specs) {
    take(job("a", 1, 700));
    take(job("small", 2, 100));
    EXPECT_TRUE(has_spec("a"));
    static_cast<void>(said());
    take(job("b", 3, 600));
    EXPECT_TRUE(has_spec("b"));
    EXPECT_TRUE(has_spec("small"));
    EXPECT_FALSE(has_spec("a")) << "the larger one";
    EXPECT_THAT(said(), ElementsAre("TrainJob ns/b changed added")) << "nothing happened to the other";
    take(job("b", 3, 600), true);
    static_cast<void>(said());
    take(job("a", 4, 700));
    EXPECT_TRUE(has_spec("a"));
    EXPECT_THAT(said(), IsEmpty());
    EXPECT_LT(store.room()->bytes(), 800U);
}

TEST_F(bounded_jobs, give_their_room_back_when_they_end_or_become_small) {
    constexpr const char* complete = R"(,{"type":"Complete","status":"True","reason":"R","message":"m"})";
    take(job("a", 1, 700));
    EXPECT_GT(store.room()->bytes(), 700U);
    take(job("a", 2, 700, complete));
    EXPECT_EQ(store.room()->bytes(), 0U);
    take(job("b", 3, 700));
    take(job("b", 4, 100));
    EXPECT_TRUE(has_spec("b"));
    EXPECT_EQ(store.room()->bytes(), 0U);
}

TEST_F(bounded_jobs, of_one_tenant_take_no_room_of_others) {
    for (int i = 0; i < 3000; ++i) take(job("j" + std::to_string(i), i + 1, 900));
    EXPECT_LE(store.room()->bytes(), 1000U);
    EXPECT_LT(store.memory_bytes() / 3000, 400U);
}

TEST(kept_bounds, follow_the_memory_of_the_process) {
    const auto of = kept_bounds::of_process(256UL << 20U);
    EXPECT_EQ(of.of_namespaces.all_bytes, 32UL << 20U);
    EXPECT_EQ(of.of_namespaces.namespace_bytes, 8UL << 20U);
    EXPECT_EQ(of.of_cluster.namespace_bytes, of.of_cluster.all_bytes);
    EXPECT_EQ(of.of_jobs.all_bytes + of.of_job_sets.all_bytes, 32UL << 20U);
    EXPECT_EQ(of.of_jobs.namespace_bytes, 4UL << 20U);
    EXPECT_EQ(kept_bounds::of_process(1).of_cluster.all_bytes, 4UL << 20U);
    EXPECT_EQ(kept_bounds::of_process(~std::uint64_t{0}).of_cluster.all_bytes, 256UL << 20U);
}

}  // namespace
}  // namespace cotrain::watch
