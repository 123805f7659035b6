// Which events are written, counted and dropped, and what they look like.
#include "reconcile/event_recorder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cotrain::reconcile {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const wall_micros wall{std::chrono::microseconds(1'767'323'045'000'006)};

event_note failed(std::string note, std::string name = "job") {
    return {{"trainer.kubeflow.org/v1alpha1", "TrainJob", "ns", std::move(name), "u-1", "42"},
            event_type::warning,
            "TrainJobResourcesCreationFailed",
            "Reconciling",
            std::move(note)};
}

struct events : testing::Test {
    // So many normal ones about one job after the other: how many are written.
    int write_normal(std::string_view ns, int count) {
        int written = 0;
        for (; count > 0; --count) {
            event_note e = failed("done", "job-" + std::to_string(++number));
            e.about.ns = ns;
            e.type = event_type::normal;
            written += recorder.record(e, now, wall) ? 1 : 0;
        }
        return written;
    }

    int number = 0;
    event_recorder recorder{"trainer-trainjob-controller", "trainer-trainjob-controller-host"};
    moment now{1h};
};

TEST_F(events, are_whole) {
    const auto write = recorder.record(failed("no \"luck\""), now, wall);
    ASSERT_TRUE(write);
    EXPECT_EQ(write->how, event_write::verb::create);
    EXPECT_EQ(write->ns, "ns");
    EXPECT_EQ(write->name, "job.6475ef64cf346");
    EXPECT_EQ(write->body,
              R"({"apiVersion":"events.k8s.io/v1","kind":"Event",)"
              R"("metadata":{"name":"job.6475ef64cf346","namespace":"ns"},"eventTime":"2026-01-02T03:04:05.000006Z",)"
              R"("type":"Warning","reason":"TrainJobResourcesCreationFailed","action":"Reconciling",)"
              R"("note":"no \"luck\"","reportingController":"trainer-trainjob-controller",)"
              R"("reportingInstance":"trainer-trainjob-controller-host","regarding":{)"
              R"("apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob","namespace":"ns","name":"job",)"
              R"("uid":"u-1","resourceVersion":"42"}})");
}

TEST_F(events, every_new_text_is_one) {
    EXPECT_TRUE(recorder.record(failed("first"), now, wall));
    const auto second = recorder.record(failed("second"), now, wall);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->how, event_write::verb::create);
    EXPECT_TRUE(recorder.record(failed("first", "other"), now, wall));
    EXPECT_EQ(recorder.metrics().written, 3U);
}

TEST_F(events, never_share_a_name) {
    const auto a = recorder.record(failed("a"), now, wall);
    const auto b = recorder.record(failed("b"), now, wall);
    EXPECT_NE(a->name, b->name);
}

TEST_F(events, repetitions_become_a_series) {
    const auto first = recorder.record(failed("x"), now, wall);
    const auto second = recorder.record(failed("x"), now + 1s, wall + 1s);
    ASSERT_TRUE(second);
    EXPECT_EQ(second->how, event_write::verb::patch);
    EXPECT_EQ(second->name, first->name);
    EXPECT_EQ(second->body, R"({"series":{"count":2,"lastObservedTime":"2026-01-02T03:04:06.000006Z"}})");
    for (int i = 2; i < 100; ++i) EXPECT_FALSE(recorder.record(failed("x"), now + i * 1s, wall));
    EXPECT_EQ(recorder.metrics().counted, 98U);
    const auto later = recorder.record(failed("x"), now + 301s, wall);
    ASSERT_TRUE(later);
    EXPECT_THAT(later->body, HasSubstr(R"("count":101)"));
    const auto anew = recorder.record(failed("x"), now + 301s + 6min + 1s, wall);
    ASSERT_TRUE(anew);
    EXPECT_EQ(anew->how, event_write::verb::create);
}

TEST_F(events, forgotten_ones_are_created_again) {
    const auto first = recorder.record(failed("x"), now, wall);
    recorder.forget("ns", first->name);
    EXPECT_EQ(recorder.record(failed("x"), now, wall)->how, event_write::verb::create);
}

TEST_F(events, long_notes_are_cut_between_characters) {
    std::string note;
    for (int i = 0; i < 1000; ++i) note += "ü";
    const auto write = recorder.record(failed(note), now, wall);
    const auto begin = write->body.find("\"note\":\"") + 8;
    const auto text = write->body.substr(begin, write->body.find('"', begin) - begin);
    EXPECT_LE(text.size(), 1024U);
    EXPECT_GE(text.size(), 1020U);
    EXPECT_TRUE(text.ends_with("ü…"));
}

TEST_F(events, long_names_fit) {
    const auto write = recorder.record(failed("x", std::string(253, 'n')), now, wall);
    EXPECT_EQ(write->name.size(), 253U);
    EXPECT_TRUE(write->name.ends_with(".6475ef64cf346"));
}

TEST_F(events, of_cluster_wide_objects_go_to_default) {
    event_note e = failed("x");
    e.about.ns.clear();
    const auto write = recorder.record(e, now, wall);
    EXPECT_EQ(write->ns, "default");
    EXPECT_THAT(write->body, HasSubstr(R"("kind":"TrainJob","name":"job")"));
}

TEST_F(events, normal_ones_above_the_rate_are_dropped_and_warnings_are_not) {
    EXPECT_EQ(write_normal("ns", 100), 20) << "a burst, and what a second brings";
    EXPECT_EQ(recorder.metrics().dropped, 80U);
    for (int n = 0; n < 100; ++n) EXPECT_TRUE(recorder.record(failed("w" + std::to_string(n)), now, wall));
    now += 500ms;
    EXPECT_EQ(write_normal("ns", 100), 5);
}

TEST_F(events, a_namespace_with_many_does_not_drop_those_of_others) {
    for (int second = 0; second < 20; ++second, now += 1s) {
        write_normal("busy", 1000);
        EXPECT_EQ(write_normal("calm", 1), 1) << second;
    }
    const auto before = recorder.metrics().written;
    for (int second = 0; second < 60; ++second, now += 1s)
        for (int ns = 0; ns < 30; ++ns) write_normal("busy" + std::to_string(ns), 100);
    EXPECT_LE(recorder.metrics().written - before, 60U * 10 + 20) << "all together keep to the rate";
}

TEST_F(events, memory_is_bounded) {
    for (int n = 0; n < 10'000; ++n) (void)recorder.record(failed(std::to_string(n)), now, wall);
    EXPECT_EQ(recorder.series(), event_series_max);
    EXPECT_EQ(recorder.record(failed("9999"), now, wall)->how, event_write::verb::patch);
    EXPECT_EQ(recorder.record(failed("0"), now, wall)->how, event_write::verb::create);
}

}  // namespace
}  // namespace cotrain::reconcile
