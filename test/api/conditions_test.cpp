// How conditions change, and times.
#include "api/conditions.hpp"

#include <gtest/gtest.h>

#include "support/documents.hpp"

namespace cotrain::api {
namespace {

using namespace std::chrono_literals;

const base::seconds_time noon = *base::parse_time_seconds("2026-01-02T12:00:00Z");
const base::seconds_time later = noon + 1h;

condition suspended(condition_status s, std::string reason = "R") {
    return {.type = "Suspended", .status = s, .reason = std::move(reason), .message = "m"};
}

TEST(conditions, a_new_type_is_appended_with_the_time) {
    condition_list list;
    EXPECT_TRUE(set_condition(list, suspended(condition_status::yes), noon));
    EXPECT_TRUE(set_condition(list, {.type = "Complete", .status = condition_status::yes}, later));
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[0].type, "Suspended");
    EXPECT_EQ(list[0].last_transition_time, noon);
    EXPECT_EQ(list[1].last_transition_time, later);
    EXPECT_TRUE(is_true(list, "Suspended"));
    EXPECT_FALSE(is_true(list, "Failed"));
}

TEST(conditions, the_time_moves_only_with_the_status) {
    condition_list list;
    set_condition(list, suspended(condition_status::yes), noon);
    EXPECT_FALSE(set_condition(list, suspended(condition_status::yes), later)) << "nothing differs";
    EXPECT_TRUE(set_condition(list, suspended(condition_status::yes, "Other"), later));
    EXPECT_EQ(list[0].reason, "Other");
    EXPECT_EQ(list[0].last_transition_time, noon);
    EXPECT_TRUE(set_condition(list, suspended(condition_status::no, "Other"), later));
    EXPECT_EQ(list[0].last_transition_time, later);
    EXPECT_FALSE(is_true(list, "Suspended"));
}

TEST(conditions, a_time_of_its_own_is_carried_over) {
    condition_list list;
    condition failed{.type = "Failed", .status = condition_status::yes, .last_transition_time = noon};
    set_condition(list, failed, later);
    EXPECT_EQ(list[0].last_transition_time, noon);
    failed.last_transition_time = later;
    EXPECT_FALSE(set_condition(list, failed, later)) << "a later time alone is no change";
    EXPECT_EQ(list[0].last_transition_time, noon);
}

TEST(conditions, places_stay) {
    condition_list list;
    for (const char* const type : {"A", "B", "C"}) set_condition(list, {.type = type}, noon);
    set_condition(list, {.type = "A", .status = condition_status::yes}, later);
    EXPECT_EQ(list[0].type, "A");
    EXPECT_TRUE(remove_condition(list, "B"));
    EXPECT_FALSE(remove_condition(list, "B"));
    ASSERT_EQ(list.size(), 2U);
    EXPECT_EQ(list[1].type, "C");
}

TEST(conditions, survive_a_round_trip) {
    doc::arena memory;
    const condition_list list{{.type = "Suspended",
                               .status = condition_status::yes,
                               .reason = "Suspended",
                               .message = "größer",
                               .last_transition_time = noon,
                               .observed_generation = 3},
                              {.type = "Complete", .status = condition_status::no},
                              {.type = "Odd", .status = condition_status::unknown, .last_transition_time = later}};
    const doc::ref json = encode_conditions(memory, list);
    EXPECT_EQ(
        doc::to_json(json.at(0)),
        R"({"type":"Suspended","status":"True","observedGeneration":3,"lastTransitionTime":"2026-01-02T12:00:00Z",)"
        R"("reason":"Suspended","message":"größer"})");
    doc::editor status = doc::editor::object(memory);
    status.set("conditions", json);
    doc::decoding outcome("status");
    EXPECT_EQ(decode_conditions(doc::place(outcome, status)), list);
    EXPECT_TRUE(outcome.ok());
}

TEST(time, is_read_with_fractions_and_offsets) {
    EXPECT_EQ(base::parse_time("2026-01-02T12:00:00Z"), base::micros_time(noon));
    EXPECT_EQ(base::parse_time("2026-01-02T14:00:00+02:00"), base::micros_time(noon));
    EXPECT_EQ(base::parse_time("2026-01-02T06:30:00.5-05:30"), base::micros_time(noon) + 500ms);
    EXPECT_EQ(base::parse_time("2026-01-02T12:00:00.0000019Z"), base::micros_time(noon) + 1us);
    EXPECT_EQ(base::parse_time_seconds("2026-01-02T12:00:00.999Z"), noon);
    EXPECT_EQ(base::parse_time_seconds("1969-12-31T23:59:59Z"), base::seconds_time(-1s));
    EXPECT_EQ(base::parse_time("2024-02-29T00:00:00Z").has_value(), true);
}

TEST(time, refuses_what_is_none) {
    for (const std::string_view text :
         {"", "2026", "2026-01-02", "2026-01-02 12:00:00Z", "2026-01-02T12:00:00", "2026-13-02T12:00:00Z",
          "2025-02-29T00:00:00Z", "2026-01-02T24:00:00Z", "2026-01-02T12:60:00Z", "2026-01-02T12:00:00.Z",
          "2026-01-02T12:00:00Zx", "2026-1-2T12:00:00Z", "2026-01-02T12:00:00+2:00", "2026-01-02T12:00:00+24:00"}) {
        EXPECT_FALSE(base::parse_time(text)) << text;
    }
}

TEST(time, is_written_in_utc) {
    EXPECT_EQ(base::format_time(noon), "2026-01-02T12:00:00Z");
    EXPECT_EQ(base::format_micros(base::micros_time(noon) + 6us), "2026-01-02T12:00:00.000006Z");
    EXPECT_EQ(base::format_micros(base::micros_time(base::seconds_time(0s)) - 1us), "1969-12-31T23:59:59.999999Z");
    EXPECT_EQ(base::format_time(base::seconds_time(0s)), "1970-01-01T00:00:00Z");
}

TEST(conditions, reasons_are_what_the_api_server_takes) {
    for (const char* good : {"A", "FieldManagerConflict", "a:b,c_1", "R2"})
        EXPECT_TRUE(is_condition_reason(good)) << good;
    for (const char* bad : {"", "2R", "no such cost centre", "ends:", "ends,", "_a", "cut\xE2\x80\xA6", "a-b"})
        EXPECT_FALSE(is_condition_reason(bad)) << bad;
    EXPECT_TRUE(is_condition_reason(std::string(1024, 'a')));
    EXPECT_FALSE(is_condition_reason(std::string(1025, 'a')));
}

}  // namespace
}  // namespace cotrain::api
