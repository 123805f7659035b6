// Sums, merges and counts of resources.
#include "runtime/container.hpp"

#include <gtest/gtest.h>

#include <ostream>

#include "documents.hpp"

namespace cotrain::runtime {
namespace {

struct request_case {
    const char* name;
    const char* pod_spec;
    const char* requests;

    friend void PrintTo(const request_case& c, std::ostream* out) { *out << c.name; }
};

class pod_request : public testing::TestWithParam<request_case> {};

TEST_P(pod_request, as_the_scheduler_counts) {
    doc::arena memory;
    const auto sum = pod_requests(document(memory, GetParam().pod_spec));
    ASSERT_TRUE(sum) << sum.error().message;
    EXPECT_EQ(sorted(sum->document(memory)), sorted(GetParam().requests));
}

INSTANTIATE_TEST_SUITE_P(
    all, pod_request,
    testing::Values(
        request_case{"nothing", "{'containers':[{'name':'a'}]}", "{}"},
        request_case{"containers_add_up",
                     "{'containers':[{'resources':{'requests':{'cpu':'250m','memory':'1Gi'}}},"
                     "{'resources':{'requests':{'cpu':'1'}}}]}",
                     "{'cpu':'1250m','memory':'1Gi'}"},
        request_case{"limits_count_where_there_is_no_request",
                     "{'containers':[{'resources':{'requests':{'cpu':'1'},'limits':{'cpu':'4','memory':'2Gi'}}}]}",
                     "{'cpu':'1','memory':'2Gi'}"},
        request_case{"the_largest_init_container_counts",
                     "{'initContainers':[{'resources':{'requests':{'cpu':'3'}}},{'resources':{'requests':"
                     "{'cpu':'2','memory':'1'}}}],'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
                     "{'cpu':'3','memory':'1'}"},
        request_case{"sidecars_stay",
                     "{'initContainers':[{'restartPolicy':'Always','resources':{'requests':{'cpu':'1'}}},"
                     "{'resources':{'requests':{'cpu':'4'}}}],'containers':[{'resources':{'requests':{'cpu':'2'}}}]}",
                     "{'cpu':'5'}"},
        request_case{"overhead_comes_on_top",
                     "{'overhead':{'cpu':'100m'},'containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
                     "{'cpu':'1100m'}"},
        request_case{"the_pod_level_wins_for_what_it_may_hold",
                     "{'resources':{'requests':{'cpu':'5','x/gpu':'9'}},'containers':[{'resources':{'requests':"
                     "{'cpu':'1','x/gpu':'2'}}}]}",
                     "{'cpu':'5','x/gpu':'2'}"}),
    [](const auto& i) { return i.param.name; });

TEST(resources, an_unreadable_amount_is_an_error) {
    doc::arena memory;
    const auto sum = pod_requests(document(memory, "{'containers':[{'resources':{'requests':{'cpu':'many'}}}]}"));
    ASSERT_FALSE(sum);
    EXPECT_NE(sum.error().message.find("resource cpu"), std::string::npos) << sum.error().message;
}

struct count_case {
    const char* name;
    const char* resources;
    std::int64_t gpus;
    std::int64_t cpus;

    friend void PrintTo(const count_case& c, std::ostream* out) { *out << c.name; }
};

class counts : public testing::TestWithParam<count_case> {};

TEST_P(counts, as_told) {
    doc::arena memory;
    const auto resources = document(memory, GetParam().resources);
    EXPECT_EQ(gpus_of(resources), GetParam().gpus);
    EXPECT_EQ(cpus_of(resources), GetParam().cpus);
}

INSTANTIATE_TEST_SUITE_P(
    all, counts,
    testing::Values(count_case{"none", "{}", 0, 0}, count_case{"cpus_round_up", "{'requests':{'cpu':'2500m'}}", 0, 3},
                    count_case{"requests_before_limits",
                               "{'requests':{'cpu':'2','x/gpu':1},'limits':{'cpu':'4','x/gpu':3}}", 1, 2},
                    count_case{"limits_otherwise", "{'limits':{'cpu':'4','x/gpu':3}}", 3, 4},
                    count_case{"zero_requests_do_not_count",
                               "{'requests':{'cpu':'0','x/gpu':0},'limits':{'cpu':'4','x/gpu':3}}", 3, 4},
                    count_case{"any_name_with_gpu", "{'limits':{'amd.com/GPU':2}}", 2, 0},
                    count_case{"nvidia_first", "{'limits':{'a.com/gpu':2,'nvidia.com/gpu':5}}", 5, 0},
                    count_case{"then_the_first_by_name", "{'limits':{'b.com/gpu':2,'a.com/gpu':5}}", 5, 0},
                    count_case{"other_devices_do_not_count", "{'limits':{'google.com/tpu':8}}", 0, 0}),
    [](const auto& i) { return i.param.name; });

TEST(resources, a_jobs_resources_lie_over_the_templates) {
    doc::arena memory;
    const auto base = document(memory,
                               "{'limits':{'cpu':'4','memory':'8Gi'},'requests':{'cpu':'2'},"
                               "'claims':[{'name':'a'}]}");
    const auto over = document(memory, "{'limits':{'memory':'16384Mi'},'claims':[{'name':'b'}],'requests':{}}");
    const auto merged = merge_resources(memory, base, over, "spec.trainer.resourcesPerNode");
    ASSERT_TRUE(merged);
    EXPECT_EQ(sorted(*merged), sorted("{'limits':{'cpu':'4','memory':'16Gi'},'requests':{'cpu':'2'},"
                                      "'claims':[{'name':'b'},{'name':'a'}]}"));
}

TEST(resources, many_of_them_are_normalised_and_written_in_order) {
    std::string text = "{'limits':{";
    for (int i = 0; i < 1000; ++i) {
        text.append(i == 0 ? "" : ",").append("'r").append(std::to_string(1999 - i)).append("':'1024Ki'");
    }
    doc::arena memory;
    const auto merged = merge_resources(memory, {}, document(memory, text + "}}"), "path");
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(merged->get({"limits", "r1500"}).as_string(), "1Mi");
    resource_list sum;
    for (const auto& m : merged->get("limits").members()) sum.set(m.key(), *api::quantity::parse(m.value));
    const doc::ref written = sum.document(memory);
    ASSERT_EQ(written.size(), 1000U);
    EXPECT_EQ(written.members().front().key(), "r1000");
    EXPECT_EQ(written.members().back().value.as_string(), "1Mi");
    EXPECT_EQ(resource_list{}.document(memory).size(), 0U);
}

}  // namespace
}  // namespace cotrain::runtime
