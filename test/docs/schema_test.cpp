// The two descriptions of Kubernetes' types: what merging and defaulting go by (runtime/schema.cpp) must agree with
// what Kubernetes and JobSet publish (crd/kubernetes.json.inc, made by tools/crdgen) wherever both say something.
#include "runtime/schema.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "crd/crd.hpp"

namespace cotrain::test {
namespace {

using runtime::field_info;
using runtime::form;
using runtime::list_rule;
using runtime::type_info;

class comparison {
   public:
    void compare(const type_info& ours, const crd::node& published, const std::string& path) {
        if (!seen_.insert(std::pair(&ours, &published)).second) return;
        for (const field_info& f : ours.fields) {
            const crd::property* const p = published.find(f.name);
            const std::string here = path + "." + std::string(f.name);
            if (p == nullptr) {
                if (!here.contains(".metadata.")) unknown.insert(here);  // published in part
                continue;
            }
            ++fields;
            compare(f, *p->value, here);
        }
    }
    std::size_t fields = 0;
    std::size_t keys = 0;
    std::size_t defaults = 0;
    std::set<std::string> unknown;

   private:
    void compare(const field_info& f, const crd::node& published, const std::string& here) {
        using crd::value_type;
        const bool list = published.type == value_type::array;
        EXPECT_EQ(f.what == form::list, list) << here;
        const bool object = published.type == value_type::object;
        EXPECT_EQ(f.what == form::object || f.what == form::map || f.what == form::amounts, object) << here;
        if (f.what == form::map || f.what == form::amounts) EXPECT_TRUE(published.values) << here;
        const bool amount = f.what == form::amount || f.what == form::sure_amount;
        if (amount) EXPECT_EQ(published.type, value_type::int_or_string) << here;
        if (list) compare_list(f, published, here);
        if (!published.fallback.empty() || !f.preset.empty()) {
            ++defaults;
            EXPECT_EQ(f.preset, published.fallback) << here;
        }
        if (f.of == nullptr) return;
        const crd::node* const below = list ? published.items.get() : &published;
        ASSERT_NE(below, nullptr) << here;
        compare(*f.of, *below, here);
    }
    void compare_list(const field_info& f, const crd::node& published, const std::string& here) {
        // Server-side apply tells their items apart; the Go types have no patchStrategy for them.
        const bool replaced = f.name == "claims" || f.name == "dependsOn";
        if (published.list == crd::list_type::map && !replaced) {
            ++keys;
            EXPECT_EQ(f.rule, list_rule::by_key) << here;
            EXPECT_EQ(f.merge_key, published.keys.front()) << here;
        } else {
            EXPECT_NE(f.rule, list_rule::by_key) << here;
        }
    }
    std::set<std::pair<const type_info*, const crd::node*>> seen_;
};

TEST(schema, says_of_kubernetes_types_what_kubernetes_publishes) {
    comparison all;
    all.compare(runtime::schema::training_runtime, *crd::schema_of("TrainingRuntime"), "TrainingRuntime");
    EXPECT_GT(all.fields, 300U);
    EXPECT_GT(all.keys, 10U);
    // Of tables that several types share, and of other versions of Kubernetes and Volcano: what no object has costs
    // nothing.
    const std::string pod = "TrainingRuntime.spec.template.spec.replicatedJobs.template.spec.template.spec.";
    EXPECT_EQ(all.unknown, (std::set<std::string>{
                               "TrainingRuntime.spec.podGroupPolicy.volcano.networkTopology.highestTierName",
                               pod + "containers.targetContainerName", pod + "initContainers.targetContainerName",
                               pod + "volumes.cinder.options", pod + "volumes.ephemeral.volumeClaimTemplate.status",
                               pod + "volumes.photonPersistentDisk.partition",
                               pod + "volumes.photonPersistentDisk.readOnly", pod + "volumes.portworxVolume.partition",
                               pod + "volumes.projected.sources.downwardAPI.defaultMode", pod + "workloadRef"}));
}

}  // namespace
}  // namespace cotrain::test
