// Plans stay bounded whatever a snapshot and a TrainJob say: pods, memory, texts, names.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "api/quantity.hpp"
#include "base/random.hpp"
#include "plan.hpp"
#include "runtime/compiled_runtime.hpp"
#include "runtime/guards.hpp"
#include "runtime/object.hpp"

namespace cotrain::plugins {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

__extension__ typedef __int128 wide;

std::string jobs_of(int count, std::string_view more = {}) {
    std::string text = "\n      replicatedJobs:\n";
    for (int i = 0; i < count; ++i) {
        text.append("      - {name: j").append(std::to_string(i)).append(more);
        text.append(", template: {spec: {template: {spec: {containers: [{name: c, image: i}]}}}}}\n");
    }
    return text;
}

std::string replicated(std::int64_t replicas, std::int64_t parallelism) {
    return ", replicas: " + std::to_string(replicas) +
           ", template: {spec: {parallelism: " + std::to_string(parallelism) +
           ", template: {spec: {containers: [{name: c, image: i}]}}}}}\n";
}

TEST(bounds, a_job_has_as_many_pods_as_can_be_counted) {
    const std::string huge = "\n      replicatedJobs:\n      - {name: a" + replicated(2147483647, 2147483647) +
                             "      - {name: b" + replicated(2147483647, 2147483647) + "      - {name: c" +
                             replicated(2147483647, 2147483647);
    for (const auto* policies : {"mlPolicy: {}", "mlPolicy: {mpi: {}}", "podGroupPolicy: {coscheduling: {}}",
                                 "podGroupPolicy: {volcano: {}}", "mlPolicy: {flux: {}}"}) {
        plan p(runtime_text(policies, huge), job_text());
        EXPECT_THAT(p.error(), HasSubstr("it can have 2147483647 at most")) << policies;
        EXPECT_FALSE(p.review().accepted()) << policies;
    }
    plan most(runtime_text("podGroupPolicy: {coscheduling: {}}",
                           "\n      replicatedJobs:\n      - {name: a" + replicated(1, 2147483647)),
              job_text());
    EXPECT_EQ(most.object("PodGroup").get({"spec", "minMember"}).as_int(), 2147483647);
    plan nodes(runtime_text("mlPolicy: {mpi: {}}",
                            "\n      replicatedJobs:\n      - {name: node, replicas: "
                            "2147483647, template: {spec: {template: {spec: {containers: "
                            "[{name: node, image: i}]}}}}}\n"),
               job_text("trainer: {numNodes: 2147483647}"));
    EXPECT_THAT(nodes.error(), HasSubstr("at most"));
    EXPECT_FALSE(nodes.review().accepted());
}

// Sums of pods against arithmetic that cannot overflow.
TEST(bounds, pods_are_counted_exactly_or_refused) {
    base::random_source random(11);
    const auto count = [&] { return static_cast<std::int64_t>(random.next() >> (33 + random.next() % 31)); };
    for (int round = 0; round < 300; ++round) {
        std::string jobs = "\n      replicatedJobs:\n";
        wide exact = 0;
        const auto sets = 1 + random.next() % 5;
        for (std::uint64_t i = 0; i < sets; ++i) {  // where Go leaves out a zero, the definition's default is 1
            const std::int64_t replicas = count();
            const std::int64_t pods = count();
            jobs += "      - {name: j" + std::to_string(i) + replicated(replicas, pods);
            exact += wide{std::max<std::int64_t>(replicas, 1)} * std::max<std::int64_t>(pods, 1);
        }
        plan p(runtime_text("podGroupPolicy: {coscheduling: {}}", jobs), job_text());
        const auto objects = p.make();
        ASSERT_EQ(objects.has_value(), exact <= runtime::pods_max) << jobs;
        if (objects) {
            EXPECT_EQ(p.object("PodGroup").get({"spec", "minMember"}).as_int(), static_cast<std::int64_t>(exact));
        }
    }
}

TEST(bounds, resources_of_a_gang_are_counted_exactly_or_refused) {
    const auto runtime_asking = [](std::string_view amount) {
        return runtime_text("podGroupPolicy: {coscheduling: {}}",
                            "\n      replicatedJobs:\n      - {name: a, template: {spec: {parallelism: 2000000000, "
                            "template: {spec: {containers: [{name: c, image: i, resources: {requests: {memory: '" +
                                std::string(amount) + "'}}}]}}}}}\n");
    };
    plan fits(runtime_asking("9223372036854775807"), job_text());
    EXPECT_EQ(fits.object("PodGroup").get({"spec", "minResources", "memory"}).as_string(), "18446744073709551614G");
    plan beyond(runtime_asking("99999999999999999999999999999999999999"), job_text());
    EXPECT_THAT(beyond.error(), HasSubstr("ask for more memory than can be counted"));
}

// Each alone is an object that etcd takes; together they would be gigabytes.
TEST(bounds, what_jobs_and_overrides_multiply_to_is_refused) {
    const std::string wide_override =
        "podTemplateOverrides: [{targetJobs: [], spec: {nodeSelector: {a: " + std::string(500'000, 'x') + "}}}]";
    plan text(runtime_text("mlPolicy: {}", jobs_of(2000)), job_text(wide_override));
    EXPECT_THAT(text.error(), HasSubstr("larger than the 3145728 bytes that the API server takes"));
    EXPECT_LT(text.memory.bytes_reserved(), 40UL << 20U);

    std::string env = "podTemplateOverrides: [";
    for (int i = 0; i < 60; ++i) {
        env += "{targetJobs: [], spec: {containers: [{name: c, env: [";
        for (int k = 0; k < 100; ++k) env += "{name: V" + std::to_string(i * 100 + k) + "}, ";
        env += "]}]}}, ";
    }
    plan trees(runtime_text("mlPolicy: {}", jobs_of(4000)), job_text(env + "]"));
    doc::arena memory(doc::plan_bytes_max);
    const auto objects = trees.framework.new_objects(memory, trees.job, trees.compiled(), trees.seen);
    ASSERT_FALSE(objects);
    EXPECT_EQ(objects.error().code, base::errc::too_large);
    EXPECT_THAT(objects.error().message, HasSubstr("bytes that a plan may take"));
    EXPECT_LT(memory.bytes_reserved(), doc::plan_bytes_max + (1UL << 20U));
}

TEST(bounds, a_plan_of_many_jobs_ends_where_its_memory_does) {
    plan p(runtime_text("mlPolicy: {}", jobs_of(6'000)), job_text());
    doc::arena memory(1UL << 20U);
    const auto objects = p.framework.new_objects(memory, p.job, p.compiled(), p.seen);
    ASSERT_FALSE(objects);
    EXPECT_EQ(objects.error().code, base::errc::too_large);
    EXPECT_LT(memory.bytes_reserved(), 6UL << 20U);  // the list of jobs itself is one piece
}

// Depth makes indentation, of which there is more than of everything else.
TEST(bounds, a_runtime_is_not_rendered_beyond_measure) {
    std::string deep;
    for (int i = 0; i < 480; ++i) deep += "{a: ";
    deep += "{";
    for (int i = 0; i < 20'000; ++i) deep += "k" + std::to_string(i) + ": 1, ";
    deep += "}" + std::string(480, '}');
    doc::arena memory;
    const auto document = doc::parse_yaml(
        memory, memory.copy(runtime_text("mlPolicy: {}", "\n      unknown: " + deep + std::string(one_node_job))));
    ASSERT_TRUE(document) << document.error().message;
    const auto made = runtime::compiled_runtime::compile(*document);
    ASSERT_FALSE(made);
    EXPECT_EQ(made.error().code, base::errc::too_large);
}

class snapshots : public testing::Test {
   public:
    std::string error_of(const std::string& text) {
        doc::arena memory;
        doc::editor map = doc::editor::object(memory);
        doc::editor metadata = map.ensure_object("metadata");
        metadata.set("name", "job-runtime-snapshot");
        doc::editor owner = metadata.ensure_array("ownerReferences").append_object();
        owner.set("kind", "TrainJob").set("name", "job").set("uid", "u-1").set("controller", true);
        map.ensure_object("data").set("runtime", text);
        plan p(runtime_text("mlPolicy: {}"), job_text());
        const auto read = runtime::read_snapshot(p.job, map);
        if (!read) return read.error().message;
        const auto objects = p.framework.new_objects(memory, p.job, **read, p.seen);
        return objects ? "" : objects.error().message;
    }
};

TEST_F(snapshots, have_no_aliases) {
    EXPECT_EQ(error_of(runtime_text("mlPolicy: {}")), "");
    std::string bomb = runtime_text("mlPolicy: {}") + "  bomb: &a " + std::string(490'000, 'x') + "\n  more: [";
    for (int i = 0; i < 2000; ++i) bomb += "*a, ";
    EXPECT_THAT(error_of(bomb + "]\n"), HasSubstr("an alias is not allowed here"));
}

TEST_F(snapshots, have_few_targets_for_variables) {
    std::string targets = "mlPolicy: {torch: {envInjection: {targets: [";
    for (int i = 0; i < 17; ++i) targets += "{jobName: j" + std::to_string(i) + "}, ";
    EXPECT_THAT(error_of(runtime_text(targets + "]}}}")), HasSubstr("targets: must have at most 16 items"));
    std::string names = "mlPolicy: {torch: {envInjection: {targets: [{jobName: node, containerNames: [";
    for (int i = 0; i < 9; ++i) names += "c" + std::to_string(i) + ", ";
    EXPECT_THAT(error_of(runtime_text(names + "]}]}}}")), HasSubstr("containerNames: must have at most 8 items"));
}

// Names go into host names, hostfiles and JSON: what a snapshot says is as foreign as what a user says.
TEST_F(snapshots, have_names_that_are_labels) {
    const auto with = [](std::string_view subdomain, std::string_view job) {
        return runtime_text("mlPolicy: {mpi: {}}",
                            "\n      network: {subdomain: " + std::string(subdomain) +
                                "}\n      replicatedJobs:\n      - {name: launcher, template: {spec: {template: {spec: "
                                "{containers: [{name: node, image: i}]}}}}}\n      - {name: " +
                                std::string(job) +
                                ", template: {spec: {template: {spec: {containers: [{name: node, image: i}]}}}}}\n");
    };
    EXPECT_EQ(error_of(with("mesh", "node")), "");
    EXPECT_EQ(error_of(with("''", "node")), "");
    for (const auto* bad : {R"('x","evil":"')", "a.b", "UP", "'a b'", R"("a\nb")", "-a", "'\\'"}) {
        EXPECT_THAT(error_of(with(bad, "node")), StartsWith("network.subdomain")) << bad;
        EXPECT_THAT(error_of(with("mesh", bad)), StartsWith("replicatedJobs[1].name")) << bad;
    }
}

// Whatever the names are, what is planned is JSON that says nothing else.
TEST(bounds, no_name_gets_out_of_its_string) {
    base::random_source random(5);
    constexpr std::string_view letters = "ab-\"\\,:{}[]\n\x01'#.";
    for (int round = 0; round < 500; ++round) {
        const auto word = [&] {
            std::string out;
            for (auto n = 1 + random.next() % 6; n > 0; --n) {
                out += letters[random.next() % (round % 2 == 0 ? 3 : letters.size())];
            }
            return out;
        };
        const std::string subdomain = word();
        const std::string name = word();
        doc::arena memory;
        doc::editor runtime = doc::editor::object(memory);
        runtime.set("apiVersion", "trainer.kubeflow.org/v1alpha1").set("kind", "TrainingRuntime");
        runtime.ensure_object("metadata").set("name", "rt");
        runtime.ensure_object({"spec", "mlPolicy", "mpi"}).set("runLauncherAsNode", true);
        doc::editor spec = runtime.child("spec").ensure_object({"template", "spec"});
        spec.ensure_object("network").set("subdomain", subdomain);
        for (const std::string& job : {std::string("launcher"), std::string("node"), name}) {
            doc::editor pods = spec.ensure_array("replicatedJobs")
                                   .append_object()
                                   .set("name", job)
                                   .ensure_object({"template", "spec", "template", "spec"});
            pods.ensure_array("containers").append_object().set("name", "node").set("image", "i");
        }
        plan p(runtime_text("mlPolicy: {}"), job_text());
        const auto compiled = runtime::compiled_runtime::compile(doc::freeze(memory, runtime));
        ASSERT_TRUE(compiled) << compiled.error().message;
        const auto objects = p.framework.new_objects(memory, p.job, **compiled, p.seen);
        if (!objects) continue;
        for (const auto& o : *objects) {
            const auto parsed = doc::parse_json_copy(memory, o.json);
            ASSERT_TRUE(parsed) << o.json;
            for (const auto& m : parsed->members()) {
                EXPECT_THAT((std::array{"apiVersion", "kind", "metadata", "data", "spec", "type", "immutable"}),
                            testing::Contains(std::string(m.key())))
                    << o.json;
            }
            if (o.name == "job-mpi-hostfile") EXPECT_EQ(parsed->get("data").size(), 1U) << o.json;
        }
    }
}

}  // namespace
}  // namespace cotrain::plugins
