// What comes and goes without changing anything that matters costs no memory.
#include <gtest/gtest.h>

#include <cstdint>

#include "support/counted_memory.hpp"
#include "support/watch_samples.hpp"
#include "watch/list_watch.hpp"
#include "watch/taking.hpp"

namespace cotrain::watch {
namespace {

// As an informer takes lines in: decoded, judged by the machine, stored.
struct following {
    taking at;
    list_watch machine{{}};
    base::random_source random{1};
    moment now{};
    event_view event{};

    explicit following(kind of) : at(of) {
        static_cast<void>(machine.next(now, random));
        take(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"1","annotations":{)"
             R"("k8s.io/initial-events-end":"true"}}}})");
    }
    void take(std::string_view line) {
        if (!decode_event(line, event, at.in.parts())) throw std::logic_error("not decoded");
        const auto outcome = machine.event(event, now);
        if (outcome.event == watcher_event::apply) at.in.upsert(event.object);
        if (outcome.event == watcher_event::remove) at.in.remove(event.object);
    }
};

// A later version of the object, unless of its kind each version is a change.
std::string later(kind of, std::string object) {
    constexpr std::string_view key = R"("resourceVersion":")";
    if (of != kind::secret && of != kind::config_map) object.insert(object.find(key) + key.size(), "9");
    return object;
}

std::uint64_t allocations_of(kind of, const std::vector<std::string>& objects, std::string_view type = "MODIFIED") {
    following t(of);
    std::vector<std::string> events;
    for (const std::string& object : objects) events.push_back(test::watch_line("ADDED", object));
    for (int round = 0; round < 3; ++round)
        for (const std::string& line : events) t.take(line);
    events.clear();
    for (const std::string& object : objects) events.push_back(test::watch_line(type, later(of, object)));
    const auto heard = t.at.listener.lines.size();
    const std::uint64_t before = test::allocations();
    for (const std::string& line : events) t.take(line);
    const std::uint64_t after = test::allocations();
    EXPECT_EQ(t.at.listener.lines.size(), heard) << "something changed";
    return after - before;
}

constexpr std::string_view set_uid = "0a1b2c3d-0000-4000-8000-000000000001";

TEST(allocations, none_for_events_without_change) {
    test::sample_job fresh;
    fresh.name = "fresh";
    const test::sample_job running;
    test::sample_job finished;
    finished.name = "done";
    finished.terminal = "Complete";
    EXPECT_EQ(allocations_of(kind::train_job, {test::new_train_job(fresh), test::running_train_job(running),
                                               test::running_train_job(finished)}),
              0U);
    EXPECT_EQ(allocations_of(kind::job_set, {test::job_set_of(running, set_uid, "90"),
                                             plain("free", "u-9", 94, "", R"(,"spec":{"suspend":true})")}),
              0U);
    EXPECT_EQ(allocations_of(kind::cluster_training_runtime,
                             {plain("torch", "u-3", 7, "", R"(,"spec":{"mlPolicy":{"numNodes":1}})")}),
              0U);
    EXPECT_EQ(allocations_of(kind::limit_range, {plain("limits", "u-4", 8, "", R"(,"spec":{"limits":[]})")}), 0U);
}

TEST(allocations, none_for_foreign_objects) {
    const std::vector<std::string> objects{plain("foreign", "u-1", 5, "", R"(,"data":{"k":"v"})")};
    for (const std::string_view type : {"ADDED", "MODIFIED", "DELETED"})
        EXPECT_EQ(allocations_of(kind::config_map, objects, type), 0U) << type;
    EXPECT_EQ(allocations_of(kind::secret, {plain("job-mpi-ssh-auth", "u-2", 6, "job")}), 0U);
}

TEST(allocations, are_counted) {
    const std::uint64_t before = test::allocations();
    const std::string text(100, 'x');
    EXPECT_EQ(test::allocations() > before, test::counts_memory()) << text;
}

}  // namespace
}  // namespace cotrain::watch
