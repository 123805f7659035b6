// Strategic merge as the API server does it: values, keys, order, directives; and our two additions.
#include "runtime/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <random>
#include <string>

#include "documents.hpp"

namespace cotrain::runtime {
namespace {

struct merge_case {
    const char* name;
    const type_info* type;
    const char* original;
    const char* patch;
    const char* expected;  // members in any order, items in this one

    friend void PrintTo(const merge_case& c, std::ostream* out) { *out << c.name; }
};

class merges : public testing::TestWithParam<merge_case> {};

TEST_P(merges, as_told) {
    doc::arena memory;
    const auto merged = strategic_merge(memory, document(memory, GetParam().original),
                                        document(memory, GetParam().patch), *GetParam().type);
    ASSERT_TRUE(merged) << merged.error().message;
    EXPECT_EQ(sorted(*merged), sorted(GetParam().expected));
}

const type_info* const pods = &schema::pod_spec;
const type_info* const sets = &schema::job_set_spec;

INSTANTIATE_TEST_SUITE_P(
    values, merges,
    testing::Values(merge_case{"scalars_replace", pods, "{'a':1,'schedulerName':'x'}", "{'schedulerName':'y'}",
                               "{'a':1,'schedulerName':'y'}"},
                    merge_case{"null_deletes", pods, "{'schedulerName':'x','nodeSelector':{'a':'b'}}",
                               "{'schedulerName':null,'nodeSelector':{'a':null,'c':'d'}}",
                               "{'nodeSelector':{'c':'d'}}"},
                    merge_case{"null_of_nothing_leaves_no_trace", pods, "{}", "{'affinity':{'nodeAffinity':null}}",
                               "{'affinity':{}}"},
                    merge_case{"a_directive_over_nothing_means_nothing", pods, "{}",
                               "{'nodeSelector':{'$patch':'replace','a':'b'},'affinity':{'nodeAffinity':"
                               "{'$patch':'delete'}}}",
                               "{'affinity':{}}"},
                    merge_case{"maps_unite", pods, "{'nodeSelector':{'a':'1','b':'2'}}", "{'nodeSelector':{'b':'3'}}",
                               "{'nodeSelector':{'a':'1','b':'3'}}"},
                    merge_case{"unknown_objects_unite", pods, "{'future':{'x':{'a':1}}}", "{'future':{'x':{'b':2}}}",
                               "{'future':{'x':{'a':1,'b':2}}}"},
                    merge_case{"unknown_lists_replace", pods, "{'future':[1,2]}", "{'future':[3]}", "{'future':[3]}"},
                    merge_case{"another_kind_replaces", pods, "{'nodeSelector':'x'}", "{'nodeSelector':{'a':'b'}}",
                               "{'nodeSelector':{'a':'b'}}"},
                    merge_case{"tolerations_replace", pods, "{'tolerations':[{'key':'a'}]}",
                               "{'tolerations':[{'key':'b'}]}", "{'tolerations':[{'key':'b'}]}"},
                    merge_case{"empty_lists_by_key_change_nothing", pods, "{'containers':[{'name':'a'}]}",
                               "{'containers':[]}", "{'containers':[{'name':'a'}]}"}),
    [](const auto& i) { return i.param.name; });

INSTANTIATE_TEST_SUITE_P(
    keys, merges,
    testing::Values(
        merge_case{"containers_by_name", pods, "{'containers':[{'name':'a','image':'1'},{'name':'b','image':'2'}]}",
                   "{'containers':[{'name':'b','tty':true}]}",
                   "{'containers':[{'name':'a','image':'1'},{'name':'b','image':'2','tty':true}]}"},
        merge_case{"mounts_by_path", pods,
                   "{'containers':[{'name':'a','volumeMounts':[{'name':'v','mountPath':'/a'}]}]}",
                   "{'containers':[{'name':'a','volumeMounts':[{'name':'w','mountPath':'/a','readOnly':true}]}]}",
                   "{'containers':[{'name':'a','volumeMounts':[{'name':'w','mountPath':'/a','readOnly':true}]}]}"},
        merge_case{"ports_by_number", pods, "{'containers':[{'name':'a','ports':[{'containerPort':80,'name':'x'}]}]}",
                   "{'containers':[{'name':'a','ports':[{'containerPort':80,'name':'y'},{'containerPort':81}]}]}",
                   "{'containers':[{'name':'a','ports':[{'containerPort':80,'name':'y'},{'containerPort':81}]}]}"},
        merge_case{"spread_by_topology", pods, "{'topologySpreadConstraints':[{'topologyKey':'zone','maxSkew':1}]}",
                   "{'topologySpreadConstraints':[{'topologyKey':'zone','maxSkew':2}]}",
                   "{'topologySpreadConstraints':[{'topologyKey':'zone','maxSkew':2}]}"},
        merge_case{"host_aliases_by_ip", pods, "{'hostAliases':[{'ip':'1','hostnames':['a']}]}",
                   "{'hostAliases':[{'ip':'1','hostnames':['b']}]}", "{'hostAliases':[{'ip':'1','hostnames':['b']}]}"},
        merge_case{"replicated_jobs_by_name", sets, "{'replicatedJobs':[{'name':'a','replicas':2},{'name':'b'}]}",
                   "{'replicatedJobs':[{'name':'a','template':{'spec':{'template':{'spec':{'hostPID':true}}}}}]}",
                   "{'replicatedJobs':[{'name':'a','replicas':2,'template':{'spec':{'template':{'spec':"
                   "{'hostPID':true}}}}},{'name':'b'}]}"}),
    [](const auto& i) { return i.param.name; });

INSTANTIATE_TEST_SUITE_P(
    order, merges,
    testing::Values(
        merge_case{"new_items_come_first", pods, "{'schedulingGates':[{'name':'a'}]}",
                   "{'schedulingGates':[{'name':'b'}]}", "{'schedulingGates':[{'name':'b'},{'name':'a'}]}"},
        merge_case{"known_items_keep_their_place", pods, "{'schedulingGates':[{'name':'a'},{'name':'b'},{'name':'c'}]}",
                   "{'schedulingGates':[{'name':'c'},{'name':'d'}]}",
                   "{'schedulingGates':[{'name':'a'},{'name':'b'},{'name':'c'},{'name':'d'}]}"},
        merge_case{"the_patch_orders_what_it_names", pods,
                   "{'schedulingGates':[{'name':'a'},{'name':'b'},{'name':'c'}]}",
                   "{'schedulingGates':[{'name':'c'},{'name':'a'}]}",
                   "{'schedulingGates':[{'name':'b'},{'name':'c'},{'name':'a'}]}"},
        merge_case{"set_element_order", pods, "{'containers':[{'name':'a'},{'name':'b'}]}",
                   "{'$setElementOrder/containers':[{'name':'b'},{'name':'a'}]}",
                   "{'containers':[{'name':'b'},{'name':'a'}]}"},
        merge_case{"set_element_order_with_the_list", pods, "{'containers':[{'name':'a'},{'name':'b'}]}",
                   "{'$setElementOrder/containers':[{'name':'c'},{'name':'b'}],'containers':[{'name':'c'}]}",
                   "{'containers':[{'name':'c'},{'name':'a'},{'name':'b'}]}"}),
    [](const auto& i) { return i.param.name; });

INSTANTIATE_TEST_SUITE_P(
    directives, merges,
    testing::Values(merge_case{"replace_an_object", pods, "{'nodeSelector':{'a':'1'}}",
                               "{'nodeSelector':{'$patch':'replace','b':'2'}}", "{'nodeSelector':{'b':'2'}}"},
                    merge_case{"delete_an_object", pods, "{'nodeSelector':{'a':'1'}}",
                               "{'nodeSelector':{'$patch':'delete'}}", "{'nodeSelector':{}}"},
                    merge_case{"delete_an_item", pods, "{'containers':[{'name':'a'},{'name':'b'}]}",
                               "{'containers':[{'name':'a','$patch':'delete'}]}", "{'containers':[{'name':'b'}]}"},
                    merge_case{"delete_of_nothing", pods, "{}", "{'containers':[{'name':'a','$patch':'delete'}]}",
                               "{'containers':[]}"},
                    merge_case{"replace_a_list", pods, "{'containers':[{'name':'a'},{'name':'b'}]}",
                               "{'containers':[{'$patch':'replace'},{'name':'c'}]}", "{'containers':[{'name':'c'}]}"},
                    merge_case{"retain_keys", pods, "{'securityContext':{'runAsUser':1,'fsGroup':2}}",
                               "{'securityContext':{'$retainKeys':['fsGroup','runAsGroup'],'runAsGroup':3}}",
                               "{'securityContext':{'fsGroup':2,'runAsGroup':3}}"},
                    merge_case{"scalars_unite", &schema::object_meta, "{'finalizers':['a','b']}",
                               "{'finalizers':['c','a']}", "{'finalizers':['c','a','b']}"},
                    merge_case{"delete_scalars", &schema::object_meta, "{'finalizers':['a','b']}",
                               "{'$deleteFromPrimitiveList/finalizers':['a','x']}", "{'finalizers':['b']}"}),
    [](const auto& i) { return i.param.name; });

INSTANTIATE_TEST_SUITE_P(
    alternatives, merges,
    testing::Values(
        merge_case{"a_volume_gets_another_source", pods,
                   "{'volumes':[{'name':'v','emptyDir':{'medium':'Memory'}},{'name':'w','configMap':{'name':'c',"
                   "'defaultMode':256}}]}",
                   "{'volumes':[{'name':'v','hostPath':{'path':'/h'}},{'name':'w','configMap':{'name':'d'}}]}",
                   "{'volumes':[{'name':'v','hostPath':{'path':'/h'}},{'name':'w','configMap':{'name':'d',"
                   "'defaultMode':256}}]}"},
        merge_case{"an_unknown_source_counts_too", pods, "{'volumes':[{'name':'v','novel':{'x':1}}]}",
                   "{'volumes':[{'name':'v','emptyDir':{}}]}", "{'volumes':[{'name':'v','emptyDir':{}}]}"},
        merge_case{"a_value_takes_the_place_of_a_source", pods,
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'x'}}}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','value':'1'}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','value':'1'}]}]}"},
        merge_case{"a_source_takes_the_place_of_a_value", pods,
                   "{'containers':[{'name':'c','env':[{'name':'A','value':'1'}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'secretKeyRef':{'key':'k'}}}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'secretKeyRef':{'key':'k'}}}]}]}"},
        merge_case{"a_source_takes_the_place_of_a_source", pods,
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'fieldRef':{'fieldPath':'x'}}}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'secretKeyRef':{'key':'k'}}}]}]}",
                   "{'containers':[{'name':'c','env':[{'name':'A','valueFrom':{'secretKeyRef':{'key':'k'}}}]}]}"}),
    [](const auto& i) { return i.param.name; });

struct bad_patch {
    const char* name;
    const char* patch;
    const char* complaint;

    friend void PrintTo(const bad_patch& c, std::ostream* out) { *out << c.name; }
};

class bad_patches : public testing::TestWithParam<bad_patch> {};

TEST_P(bad_patches, say_what_is_wrong) {
    doc::arena memory;
    const auto merged = strategic_merge(memory, document(memory, "{'containers':[{'name':'a'}]}"),
                                        document(memory, GetParam().patch), schema::pod_spec);
    ASSERT_FALSE(merged);
    EXPECT_NE(merged.error().message.find(GetParam().complaint), std::string::npos) << merged.error().message;
}

INSTANTIATE_TEST_SUITE_P(
    all, bad_patches,
    testing::Values(bad_patch{"no_object", "[]", "must be an object"},
                    bad_patch{"item_without_key", "{'containers':[{'image':'x'}]}", "has no name"},
                    bad_patch{"item_to_delete_without_key", "{'containers':[{'$patch':'delete'}]}", "has no name"},
                    bad_patch{"item_that_is_no_object", "{'containers':['a']}", "must be objects"},
                    bad_patch{"unknown_directive", "{'$patch':'append'}", "$patch must be"},
                    bad_patch{"unknown_directive_of_an_item", "{'containers':[{'name':'a','$patch':'merge'}]}",
                              "replace or delete"},
                    bad_patch{"keys_not_retained", "{'$retainKeys':['a'],'b':1}", "\"b\""},
                    bad_patch{"retain_keys_no_list", "{'$retainKeys':'a'}", "must be a list"}),
    [](const auto& i) { return i.param.name; });

TEST(merge, leaves_frozen_originals_alone) {
    doc::arena before;
    const auto original = document(before, "{'containers':[{'name':'a','env':[{'name':'X','value':'1'}]}]}");
    const std::string text = doc::to_json(original);
    doc::arena memory;
    const auto merged = strategic_merge(
        memory, original, document(memory, "{'containers':[{'name':'a','env':[{'name':'X','value':'2'}]}]}"),
        schema::pod_spec);
    ASSERT_TRUE(merged);
    EXPECT_EQ(doc::to_json(original), text);
    EXPECT_NE(doc::to_json(*merged), text);
}

TEST(merge, again_changes_nothing) {
    doc::arena memory;
    const auto patch = document(memory,
                                "{'volumes':[{'name':'v','hostPath':{'path':'/h'}}],'schedulingGates':[{'name':'b'}],"
                                "'containers':[{'name':'n','env':[{'name':'B'},{'name':'A','value':'2'}]}]}");
    const auto original = document(memory,
                                   "{'volumes':[{'name':'v','emptyDir':{}}],'schedulingGates':[{'name':'a'}],"
                                   "'containers':[{'name':'m'},{'name':'n','env':[{'name':'A','value':'1'}]}]}");
    const auto once = strategic_merge(memory, original, patch, schema::pod_spec);
    ASSERT_TRUE(once);
    const std::string text = doc::to_json(*once);
    const auto twice = strategic_merge(memory, *once, patch, schema::pod_spec);
    ASSERT_TRUE(twice);
    EXPECT_EQ(doc::to_json(*twice), text);
}

// Anybody who may make a runtime can make such lists.
TEST(merge, of_long_lists_takes_no_square_of_time) {
    constexpr int items = 100'000;
    std::string list = "{'volumes':[";
    for (int i = 0; i < items; ++i) {
        list.append(i == 0 ? "" : ",").append("{'name':'v").append(std::to_string(i)).append("'}");
    }
    doc::arena memory;
    const auto original = document(memory, list + "]}");
    const auto merged =
        strategic_merge(memory, original, document(memory, "{'volumes':[{'name':'new'},{'name':'v7','emptyDir':{}}]}"),
                        schema::pod_spec);
    ASSERT_TRUE(merged) << merged.error().message;
    const auto volumes = merged->get("volumes").items();
    ASSERT_EQ(volumes.size(), items + 1U);
    EXPECT_EQ(volumes[0].get("name").as_string(), "new");
    EXPECT_TRUE(volumes[8].contains("emptyDir"));
    EXPECT_EQ(volumes[items].get("name").as_string(), "v99999");
}

TEST(merge, of_large_maps_takes_no_square_of_time) {
    const auto map = [](int from, int to) {
        std::string text = "{'nodeSelector':{";
        for (int i = from; i < to; ++i) {
            text.append(i == from ? "" : ",").append("'k").append(std::to_string(i)).append("':'");
            text.append(std::to_string(from)).append("'");
        }
        return text + "}}";
    };
    doc::arena memory;
    const auto merged = strategic_merge(memory, document(memory, map(0, 100'000)),
                                        document(memory, map(99'999, 200'000)), schema::pod_spec);
    ASSERT_TRUE(merged) << merged.error().message;
    const auto members = merged->get("nodeSelector").members();
    ASSERT_EQ(members.size(), 200'000U);
    EXPECT_EQ(members[99'999].key(), "k99999");
    EXPECT_EQ(members[99'999].value.as_string(), "99999");
    EXPECT_EQ(members[99'998].value.as_string(), "0");
    EXPECT_EQ(members[199'999].key(), "k199999");
}

TEST(merge, finds_items_of_long_lists_as_of_short_ones) {
    doc::arena memory;
    std::mt19937 random(7);
    const auto item = [&] {
        static constexpr std::array<const char*, 8> texts{"'a'", "80", "80.5", "8e1", "true", "-1", "'80'", "'b'"};
        const unsigned which = random() % 40;
        if (which == 39) return document(memory, "{'other':1}");
        return document(memory, "{'k':" + (which < 8 ? texts[which] : std::to_string(which * 3)) + "}");
    };
    for (int round = 0; round < 50; ++round) {
        item_list list;
        for (int i = 0; i < 60; ++i) list.push_back(item());
        const item_places places(list, "k");
        for (int i = 0; i < 40; ++i) {
            const doc::ref wanted = item();
            const auto same = [&](doc::ref other) { return same_item(wanted, other, "k"); };
            const auto first = std::ranges::find_if(list, same);
            const auto found = places.find(wanted);
            ASSERT_EQ(found.has_value(), first != list.end()) << sorted(wanted);
            if (!found) continue;
            EXPECT_EQ(*found, static_cast<std::size_t>(first - list.begin())) << sorted(wanted);
        }
    }
}

}  // namespace
}  // namespace cotrain::runtime
