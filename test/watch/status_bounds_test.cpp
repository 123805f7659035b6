// What is kept of statuses and names that a tenant may write as long as the API server allows.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "watch/taking.hpp"

namespace cotrain::watch {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string condition(std::string_view type, std::string_view reason, std::string_view message,
                      std::string_view status = "True") {
    return R"({"type":")" + std::string(type) + R"(","status":")" + std::string(status) + R"(","reason":")" +
           std::string(reason) + R"(","message":")" + std::string(message) +
           R"(","lastTransitionTime":"2026-01-01T00:00:00Z"})";
}

std::string with_status(std::string_view conditions, int version = 1, std::string_view more = "") {
    return plain("job", "u-1", version, "",
                 R"(,"spec":{"runtimeRef":{"name":"r"}},"status":{"conditions":[)" + std::string(conditions) + "]" +
                     std::string(more) + "}");
}

std::string many_conditions(int count, std::size_t type_bytes, std::size_t reason_bytes, std::size_t message_bytes) {
    std::string out;
    for (int i = 0; i < count; ++i) {
        const std::string n = std::to_string(1000 + i);
        out += condition(n + std::string(type_bytes, 't'), "r" + n + std::string(reason_bytes, 'r'),
                         n + std::string(message_bytes, 'm')) +
               ",";
    }
    return out;
}

struct status_bounds : testing::Test {
    taking t{kind::train_job};

    [[nodiscard]] const object_body& body() const { return *t.store.body(*t.store.find("ns", "job")); }
    [[nodiscard]] std::string message(std::string_view type) const {
        for (const stored_condition& c : body().conditions())
            if (t.texts.view(c.type) == type) return std::string(t.texts.view(c.message));
        return "-";
    }
    [[nodiscard]] std::size_t memory() const { return t.store.memory_bytes() + t.texts.memory_bytes(); }
};

TEST_F(status_bounds, a_message_of_ordinary_length_is_kept_byte_for_byte) {
    const std::string text = "jobset failed due to one or more job failures: " + std::string(900, 'x') + R"(\n\tä)";
    t.take(with_status(condition("Failed", "FailedJobs", text, "False") + "," + condition("Other", "R", "\\u003cm>")));
    EXPECT_THAT(message("Failed"), EndsWith("x\n\tä"));
    EXPECT_EQ(message("Other"), "<m>");
    EXPECT_EQ(t.in.malformed(), 0U);
}

TEST_F(status_bounds, a_longer_one_is_cut_with_a_mark) {
    t.take(with_status(condition("Mine", "R", std::string(32'768, 'x'))));
    EXPECT_EQ(message("Mine").size(), condition_message_bytes_max);
    EXPECT_THAT(message("Mine"), EndsWith("x…"));
    EXPECT_EQ(t.in.malformed(), 1U);
    ASSERT_EQ(t.log.size(), 1U);
    EXPECT_THAT(t.log[0], HasSubstr("of which a part is left out"));
}

TEST_F(status_bounds, what_decides_is_kept_whatever_else_there_is) {
    t.take(with_status(many_conditions(100, 300, 1000, 32'000) +
                       condition("Suspended", "Suspended", "TrainJob is suspended")));
    EXPECT_EQ(message("Suspended"), "TrainJob is suspended");
    EXPECT_LT(body().bytes(), 16U << 10U);
    t.take(with_status(many_conditions(100, 300, 1000, 32'000) + condition("Complete", "R", "m"), 2));
    EXPECT_TRUE(t.store.get(*t.store.find("ns", "job"))->complete);
}

// What was cut, and written as it was kept, is kept like that.
TEST_F(status_bounds, a_second_look_changes_nothing) {
    for (const int length : {10, 100, 1000, 1020, 1024, 3000, 32'000}) {
        t.take(with_status(many_conditions(20, 20, 20, static_cast<std::size_t>(length)) +
                               condition("Failed", "R", std::string(2000, 'f'), "False"),
                           1));
        std::string again;
        for (const stored_condition& c : body().conditions())
            again += (again.empty() ? "" : ",") +
                     condition(t.texts.view(c.type), t.texts.view(c.reason), t.texts.view(c.message), "False");
        const auto kept = [&] {
            std::string all;
            for (const stored_condition& c : body().conditions())
                all.append(t.texts.view(c.type)).append(t.texts.view(c.message)).append("\n");
            return all;
        };
        const std::string before = kept();
        t.take(with_status(again, 2));
        EXPECT_EQ(kept(), before) << length;
        t.take(plain("job", "u-1", 3), true);
    }
}

TEST_F(status_bounds, counts_are_of_no_more_jobs_than_a_train_job_may_tell_of) {
    std::string jobs;
    for (int i = 0; i < 5000; ++i) jobs += R"({"name":"j)" + std::to_string(i) + R"(","ready":1},)";
    jobs += R"({"name":")" + std::string(64, 'n') + R"(","ready":1})";
    t.take(with_status(condition("Suspended", "R", "m"), 1, R"(,"jobsStatus":[)" + jobs + "]"));
    EXPECT_EQ(body().counts().size(), jobs_max);
    EXPECT_EQ(message("Suspended"), "m");
    EXPECT_EQ(t.in.malformed(), 1U);
}

// Whatever lengths come and go in turn: what is given back is used again.
TEST(text_table, keeps_no_memory_of_texts_that_are_gone) {
    text_table table;
    std::size_t most = 0;
    for (std::size_t length = 8; length <= text_bytes_max; length += 8) {
        std::vector<text_id> ids;
        for (int i = 0; i < 2000; ++i)
            ids.push_back(table.intern(std::to_string(10'000 + i) + std::string(length, 'x')));
        most = std::max(most, table.memory_bytes());
        for (const text_id id : ids) table.release(id);
    }
    EXPECT_LT(most, 16U << 20U);
    EXPECT_LT(table.memory_bytes(), 10U << 20U) << "a page of each size";
}

TEST(status_bounds_of_owners, names_and_uids_in_owner_references_are_bounded) {
    taking t(kind::job_set);
    const std::string long_text(200'000, 'x');
    const auto set = [&](std::string_view name, std::string_view owner, std::string_view uid) {
        return R"({"metadata":{"name":")" + std::string(name) +
               R"(","namespace":"ns","uid":"u","resourceVersion":"1","ownerReferences":[{"apiVersion":)"
               R"("trainer.kubeflow.org/v1alpha1","kind":"TrainJob","name":")" +
               std::string(owner) + R"(","uid":")" + std::string(uid) + R"(","controller":true}]},"spec":{}})";
    };
    const std::size_t before = t.texts.memory_bytes();
    for (int i = 0; i < 300; ++i) {
        const std::string n = std::to_string(i);
        t.take(set("s" + n, n + long_text, n + long_text));
    }
    EXPECT_LT(t.texts.memory_bytes() - before, 1U << 18U);
    t.take(set("odd", std::string(300, 'o'), "u-odd"));
    const object_record* const odd = t.store.get(*t.store.find("ns", "odd"));
    EXPECT_EQ(odd->group, no_text) << "no TrainJob has such a name";
    EXPECT_EQ(odd->owner, find_uid(t.texts, "u-odd"));
}

TEST(status_bounds_of_pod_groups, no_more_is_kept_than_ours_are_like) {
    taking t(kind::volcano_pod_group);
    t.take(plain("g", "u-1", 1, "", R"(,"spec":{"minMember":3,"x":")" + std::string(3000, 'x') + R"("})"));
    EXPECT_TRUE(t.store.body(*t.store.find("ns", "g"))->spec_left_out);
    EXPECT_LT(t.store.memory_bytes() / 1024, 40U);
    t.take(plain("small", "u-2", 1, "", R"(,"spec":{"minMember":3})"));
    EXPECT_THAT(std::string(t.store.body(*t.store.find("ns", "small"))->spec()), StartsWith(R"({"minMember")"));
}

}  // namespace
}  // namespace cotrain::watch
