// Runtimes that are too large together, on the real API server: what is left out is the same after each start, and read
// again when there is room.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/random.hpp"
#include "base/task_group.hpp"
#include "integration/operator_scene.hpp"
#include "watch/heard.hpp"
#include "watch/informer.hpp"

namespace cotrain::test {
namespace {

using testing::Contains;
using testing::IsSupersetOf;
using testing::Not;
using watch::kind;

std::string runtime(const std::string& name, std::size_t bytes) {
    return R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{"name":")" + name +
           R"(","annotations":{"large":")" + std::string(bytes, 'x') +
           R"("}},"spec":{"mlPolicy":{"numNodes":1,"torch":{}},"template":{"spec":{"replicatedJobs":[{"name":"node",)"
           R"("template":{"metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":)"
           R"({"template":{"spec":{"containers":[{"name":"node","image":"i"}]}}}}}]}}}})";
}

// Informers of runtimes in the scene's namespace, as an operator that starts.
struct looking {
    explicit looking(operator_scene& s)
        : ns(s.ns),
          group(s.loop.get_executor()),
          all({group, *s.api, texts, listener, random, base::null_logger()},
              {.watched = watch::kind_set().set(static_cast<std::size_t>(kind::training_runtime)),
               .namespaces = {s.ns},
               .kept = {.of_namespaces = {.namespace_bytes = 40'000, .all_bytes = 160'000}}}) {
        all.start();
    }
    awaitable<void> end() {
        group.cancel();
        co_await group.join();
    }
    [[nodiscard]] std::set<std::string> kept() const {
        std::set<std::string> out;
        const auto& store = all.store(kind::training_runtime);
        store.for_each([&](watch::handle h, const watch::object_record& r) {
            if (store.body(h) != nullptr) out.insert(std::string(texts.view(r.key)).substr(ns.size() + 1));
        });
        return out;
    }

    std::string ns;
    watch::text_table texts;
    watch::heard listener{texts};
    base::random_source random{3};
    base::task_group group;
    watch::informers all;
};

TEST(operator_left_out, runtimes_are_the_same_after_a_start_and_come_back_with_room) {
    operator_scene here("left-out");
    here.play([](operator_scene& s) -> awaitable<void> {
        looking first(s);
        EXPECT_TRUE(co_await first.all.ready());
        for (const auto& [name, bytes] :
             {std::pair("large", 25'000), std::pair("middle", 20'000), std::pair("small", 5'000)})
            EXPECT_TRUE((co_await s.api->create(kinds::runtime, s.ns, runtime(name, static_cast<std::size_t>(bytes))))
                            .has_value());
        co_await first.listener.until("TrainingRuntime " + s.ns + "/small changed added");
        EXPECT_THAT(first.kept(), IsSupersetOf({"torch", "mpi", "small", "middle"}));
        EXPECT_THAT(first.kept(), Not(Contains("large")));
        EXPECT_EQ(first.all.store(kind::training_runtime).room()->left_out(), 1U);

        looking second(s);
        EXPECT_TRUE(co_await second.all.ready());
        EXPECT_EQ(second.kept(), first.kept());

        EXPECT_TRUE((co_await s.api->remove(kinds::runtime, {s.ns, "middle"})).has_value());
        for (looking* each : {&first, &second}) {
            co_await each->listener.until("TrainingRuntime " + s.ns + "/large changed spec");
            EXPECT_THAT(each->kept(), Contains("large"));
            EXPECT_EQ(each->all.store(kind::training_runtime).room()->left_out(), 0U);
            co_await each->end();
        }
    });
}

}  // namespace
}  // namespace cotrain::test
