// Our operator on an API server that fares badly: whatever happens, its jobs come to their end.
#include <gtest/gtest.h>

#include <string>

#include "playground/box_scene.hpp"

namespace cotrain {
namespace {

using test::box_scene;

constexpr std::size_t jobs = 12;

playground::box_options with(std::string_view faults) {
    playground::box_options out;
    out.script = *sim::read_script("start 5ms, ready 5ms, run 20ms");
    auto rules = sim::read_faults(faults);
    EXPECT_TRUE(rules) << (rules ? "" : rules.error().message);
    if (rules) out.faults = std::move(*rules);
    return out;
}

awaitable<void> come_to_their_end(box_scene& s) {
    // A connection that went silent is found within half a second instead of half a minute.
    s.ours.api().set_ping(std::chrono::milliseconds(250), std::chrono::milliseconds(250));
    EXPECT_TRUE(s.make_jobs(jobs));
    EXPECT_TRUE(co_await s.until_complete(jobs)) << s.complete();
    EXPECT_EQ(s.count("jobset.x-k8s.io", "v1alpha2", "jobsets"), jobs);
    EXPECT_GT(s.at.server().trouble().struck(), 0U) << "the fault has to have happened";
}

class box_faults : public testing::TestWithParam<const char*> {};

TEST_P(box_faults, are_survived) {
    box_scene s(with(GetParam()));
    s.play(come_to_their_end);
}

INSTANTIATE_TEST_SUITE_P(
    each, box_faults,
    testing::Values("always * * delay 20ms",                                  //
                    "every 3 patch * status 429",                             //
                    "every 3 patch jobsets status 500",                       //
                    "every 4 patch * status 503",                             //
                    "first 3 watch * status 504",                             //
                    "first 4 watch * status 400; first 3 list * status 500",  //
                    "every 5 patch jobsets drop",                             //
                    "first 2 watch trainjobs drop",                           //
                    "once patch jobsets freeze",                              //
                    "every 7 patch * goaway",                                 //
                    "first 2 watch jobsets expire",                           //
                    "first 2 list * expire; first 4 watch * status 400",
                    "every 2 watch jobsets duplicate; every 2 watch trainjobs duplicate",
                    "every 3 watch * reorder",  //
                    "10% patch * drop; 10% patch * status 500; 5% * * goaway; 10% * * delay 30ms"));

}  // namespace
}  // namespace cotrain
