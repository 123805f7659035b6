// Statuses whose authors wrote as much as the API server takes: they cost no memory to speak of, and no patch more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;

std::string conditions(int count, std::size_t message_bytes, std::string_view last) {
    std::string out;
    for (int i = 0; i < count; ++i)
        out += R"({"type":"Mine)" + std::to_string(i) + R"(","status":"True","reason":"R","message":")" +
               std::string(message_bytes, 'x') + R"(","lastTransitionTime":"2026-01-01T01:00:00Z"},)";
    return out.append(last);
}

std::string ended(std::string_view type, std::string_view message) {
    return R"({"type":")" + std::string(type) + R"(","status":"True","reason":"FailedJobs","message":")" +
           std::string(message) + R"(","lastTransitionTime":"2026-01-01T01:00:00Z"})";
}

struct trainjob_long_status : trainjob_case {
    void say(const char* who, const std::string& list) { w.patch(who, R"({"status":{"conditions":[)" + list + "]}}"); }
    [[nodiscard]] std::size_t kept(watch::kind k) const { return w.known->store(k).memory_bytes(); }
};

TEST_F(trainjob_long_status, an_end_of_ordinary_length_is_told_byte_for_byte) {
    begin();
    const std::string why =
        "jobset failed due to one or more job failures (first failed job: job-node-0) " + std::string(800, 'y');
    say(set, conditions(60, 32'000, ended("Failed", why)));
    w.deliver(set);
    EXPECT_LT(kept(watch::kind::job_set), 48U << 10U);
    w.settle();
    EXPECT_EQ(w.condition("Failed", "message"), why);
}

TEST_F(trainjob_long_status, a_longer_one_is_told_cut_and_once) {
    begin();
    w.taken();
    say(set, ended("Failed", std::string(32'000, 'y')));
    w.settle();
    EXPECT_EQ(w.condition("Failed", "message").size(), watch::condition_message_bytes_max);
    EXPECT_THAT(w.condition("Failed", "message"), EndsWith("y…"));
    EXPECT_THAT(w.taken(), ElementsAre(testing::HasSubstr("list pods"), "patch TrainJob ns/job/status"));
    w.restart();
    w.settle();
    EXPECT_THAT(w.taken(), IsEmpty());
}

TEST_F(trainjob_long_status, those_of_others_in_a_train_job_start_no_patches) {
    begin(torch_runtime, "  suspend: true\n");
    say(job, conditions(6, 32'000, ended("Suspended", "TrainJob is suspended")));
    w.settle();
    EXPECT_LT(kept(watch::kind::train_job), 48U << 10U);
    w.taken();
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(w.run_job());
        w.settle();
    }
    w.restart();
    w.settle();
    EXPECT_THAT(w.taken(), IsEmpty());
    w.patch(job, R"({"spec":{"suspend":false}})");
    w.settle();
    EXPECT_EQ(w.condition("Suspended"), "False");
    w.taken();
    for (int i = 0; i < 3; ++i) {
        static_cast<void>(w.run_job());
        w.settle();
    }
    EXPECT_THAT(w.taken(), IsEmpty()) << "what the patch cut is known as it is now";
}

TEST_F(trainjob_long_status, trouble_is_told_once_beside_them) {
    w.apply_yaml(torch_runtime);
    w.refusals["apply JobSet ns/job"] =
        base::error{.code = base::errc::status, .http_status = 403, .message = "no " + std::string(3000, 'z')};
    w.apply_yaml(train_job());
    w.settle();
    EXPECT_THAT(w.condition("ResourcesReady", "message"), HasSubstr("no zzz"));
    doc::arena memory;
    const std::string mine = w.condition("ResourcesReady", "message");
    say(job, conditions(7, 32'000,
                        R"({"type":"ResourcesReady","status":"False","reason":"ResourcesCreationFailed","message":")" +
                            mine + R"(","lastTransitionTime":"2026-01-01T00:00:00Z"})"));
    w.settle();
    w.taken();
    for (unsigned i = 0; i < 3; ++i) {
        static_cast<void>(w.run_job("ns/job", 9));
        w.deliver();
    }
    EXPECT_THAT(w.taken(), testing::Not(testing::Contains("patch TrainJob ns/job/status")));
}

}  // namespace
}  // namespace cotrain::reconcile
