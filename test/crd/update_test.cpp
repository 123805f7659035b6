// What an update may change, and what it is forgiven.
#include "crd/support.hpp"

namespace cotrain::crd {
namespace {

paths update(std::string_view from, std::string_view to) { return faults_of(jobs(), train_job(to), train_job(from)); }

TEST(update, refuses_changes_of_what_is_immutable) {
    EXPECT_EQ(update(R"("trainer":{"numNodes":2})", R"("trainer":{"numNodes":3})"), paths{"spec.trainer"});
    EXPECT_EQ(update(R"("trainer":{"numNodes":2})", R"("trainer":{"image":"x","numNodes":2})"), paths{"spec.trainer"});
    EXPECT_EQ(update(R"("initializer":{"model":{}})", R"("initializer":{})"), paths{"spec.initializer"});
    EXPECT_EQ(update(R"("activeDeadlineSeconds":1)", R"("activeDeadlineSeconds":2)"),
              paths{"spec.activeDeadlineSeconds"});
    EXPECT_EQ(update("", R"("managedBy":"kueue.x-k8s.io/multikueue")"), paths{"spec.managedBy"});
    std::string other = train_job("");
    other.replace(other.find(R"("rt")"), 4, R"("r2")");
    EXPECT_EQ(faults_of(jobs(), other, train_job("")), paths{"spec.runtimeRef"});
}

TEST(update, allows_what_is_the_same_or_mutable) {
    EXPECT_EQ(update(R"("trainer":{"numNodes":2})", R"("trainer":{"numNodes":2.0},"suspend":true)"), paths{});
    EXPECT_EQ(update("", R"("ttlSecondsAfterFinished":5)"), paths{});
    EXPECT_EQ(update(R"("podTemplateOverrides":[{"targetJobs":[{"name":"a"}]}])", R"("podTemplateOverrides":[])"),
              paths{});
}

TEST(update, knows_nothing_of_values_that_come_or_go) {
    EXPECT_EQ(update("", R"("trainer":{"numNodes":2})"), paths{});
    EXPECT_EQ(update(R"("activeDeadlineSeconds":1)", ""), paths{});
}

TEST(update, compares_keyed_lists_without_order_and_plain_ones_with_it) {
    const auto env = [](std::string_view list) { return R"("trainer":{"env":)" + std::string{list} + "}"; };
    EXPECT_EQ(
        update(env(R"([{"name":"A","value":"1"},{"name":"B"}])"), env(R"([{"name":"B"},{"name":"A","value":"1"}])")),
        paths{});
    EXPECT_EQ(
        update(env(R"([{"name":"A","value":"1"},{"name":"B"}])"), env(R"([{"name":"B","value":"1"},{"name":"A"}])")),
        paths{"spec.trainer"});
    EXPECT_EQ(update(R"("trainer":{"args":["a","b"]})", R"("trainer":{"args":["b","a"]})"), paths{"spec.trainer"});
}

std::string patches(std::string_view entries) { return R"("runtimePatches":)" + std::string{entries}; }
std::string patch(std::string_view manager, std::string_view account) {
    return R"({"manager":")" + std::string{manager} +
           R"(","trainingRuntimeSpec":{"template":{"spec":{"replicatedJobs":)" +
           R"([{"name":"node","template":{"spec":{"template":{"spec":{"serviceAccountName":")" + std::string{account} +
           R"("}}}}}]}}}})";
}

TEST(update, finds_the_old_entry_of_a_keyed_list_by_its_key) {
    const std::string before = patches("[" + patch("a.b/c", "x") + "," + patch("d.e/f", "y") + "]");
    EXPECT_EQ(update(before, patches("[" + patch("d.e/f", "y") + "," + patch("a.b/c", "x") + "]")), paths{});
    EXPECT_EQ(
        update(before, patches("[" + patch("d.e/f", "x") + "]")),
        paths{"spec.runtimePatches[0].trainingRuntimeSpec.template.spec.replicatedJobs[0].template.spec.template.spec"
              ".serviceAccountName"});
    EXPECT_EQ(update(before, patches("[" + patch("g.h/i", "z") + "]")), paths{});
}

// Objects that were stored before a limit existed can still be changed elsewhere (KEP-4008).
TEST(update, forgives_what_it_leaves_as_it_was) {
    const std::string image = R"("image":")" + std::string(501, 'i') + '"';
    EXPECT_EQ(update(R"("trainer":{)" + image + "}", R"("suspend":true,"trainer":{)" + image + "}"), paths{});
    EXPECT_EQ(update(R"("managedBy":"a.b/c")", R"("managedBy":"a.b/c","suspend":true)"), paths{});
    EXPECT_EQ(faults_of(jobs(), train_job("", "1a"), train_job("", "1a")), paths{});
    // The object as a whole has changed, and the rule about its name is the whole object's.
    EXPECT_EQ(faults_of(jobs(), train_job(R"("suspend":true)", "1a"), train_job("", "1a")), paths{"<nil>"});
}

TEST(update, does_not_forgive_what_is_new) {
    const std::string image = R"("image":")" + std::string(501, 'i') + '"';
    EXPECT_EQ(update(R"("trainer":{)" + image + "}", R"("trainer":{"numNodes":1,)" + image + "}"),
              paths{"spec.trainer"});
    EXPECT_EQ(update("", R"("trainer":{)" + image + "}"), paths{"spec.trainer.image"});
}

TEST(update, forgives_duplicates_everywhere_once_there_were_some) {
    const std::string twice = R"("trainer":{"env":[{"name":"A"},{"name":"A"}]})";
    EXPECT_EQ(update(twice, twice + "," + patches("[" + patch("a.b/c", "x") + "," + patch("a.b/c", "x") + "]")),
              paths{});
    EXPECT_EQ(update("", twice), paths{"spec.trainer.env[1]"});
}

}  // namespace
}  // namespace cotrain::crd
