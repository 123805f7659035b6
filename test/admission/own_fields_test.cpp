// Fields of our own through the hands of clients that do not know them, and of clients that do.
#include "admission/own_fields.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "admission/cluster.hpp"
#include "admission/defaults.hpp"
#include "admission/typed_client.hpp"
#include "api/names.hpp"
#include "api/trainjob.hpp"
#include "crd/crd.hpp"
#include "crd/rules.hpp"

namespace cotrain::admission {
namespace {

using doc::editor;
using doc::ref;
namespace names = api::names;
namespace schema = crd;

constexpr std::string_view overrides =
    "podTemplateOverrides: [{targetJobs: [{name: node}], spec: {nodeSelector: {a: b}}}]";
constexpr std::string_view ttl = "ttlSecondsAfterFinished: 60";
constexpr std::string_view overrides_json = R"([{"spec":{"nodeSelector":{"a":"b"}},"targetJobs":[{"name":"node"}]}])";
constexpr std::array<std::string_view, 2> overrides_path{"spec", "podTemplateOverrides"};
constexpr std::array<std::string_view, 2> ttl_path{"spec", "ttlSecondsAfterFinished"};

ref value_at(ref document, std::span<const std::string_view> path) {
    for (const auto step : path) document = document.get(step);
    return document;
}

std::string dotted(std::span<const std::string_view> path) {
    std::string out;
    for (const auto step : path) out.append(out.empty() ? "" : ".").append(step);
    return out;
}

// Paths of members that only `ours` has, without what is below them; "[]" for items, "{}" for values of maps.
void list_own(const schema::node& ours, ref theirs, const std::string& at, std::set<std::string>& out) {
    if (theirs.is_null()) return;
    for (const auto& p : ours.properties) {
        const std::string path = at.empty() ? p.name : at + "." + p.name;
        if (const ref known = theirs.get(p.name)) {
            list_own(*p.value, known, path, out);
        } else {
            out.insert(path);
        }
    }
    if (ours.items) list_own(*ours.items, theirs.at(0), at + "[]", out);
    if (ours.values) list_own(*ours.values, theirs.get("*"), at + "{}", out);
}

// spec.trainer.numProcPerNode is in both, with a type of its own here: admission stores what theirs can read.
TEST(own_fields, are_all_that_the_reference_does_not_have) {
    doc::arena memory;
    std::set<std::string> own;
    list_own(*schema::schema_of(names::train_job_kind), test::fields_of_the_reference(memory), "", own);
    std::set<std::string> wanted{"spec." + std::string(names::fields_kept), "status.runtimeSnapshotHash"};
    for (const own_field& f : own_fields()) wanted.insert(dotted(f.path));
    for (const std::string_view member : api::own_status_members) wanted.insert("status." + std::string(member));
    EXPECT_EQ(own, wanted) << "a field of ours needs a row in admission/own_fields.cpp";
    std::set<std::string_view> copies;
    for (const own_field& f : own_fields()) EXPECT_TRUE(copies.insert(f.copy).second) << f.copy;
}

class own_fields_kept : public testing::Test {
   public:
    ref load(std::string_view spec, std::string_view metadata = {}) {
        std::string text =
            "{apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob, metadata: {name: job, namespace: ns";
        text.append(metadata.empty() ? "" : ", ").append(metadata).append("}, spec: {runtimeRef: {name: rt}");
        return cluster_.load(text.append(spec.empty() ? "" : ", ").append(spec).append("}}"));
    }
    // What is stored after admission, which finds nothing more to do then.
    ref admit(ref document, ref before = {}) {
        auto done = default_train_job(memory(), document, before, cluster_.now);
        if (!done) {
            ADD_FAILURE() << done.error().message;
            return document;
        }
        warnings_ = std::move(done->warnings);
        const ref stored = doc::freeze(memory(), done->document);
        const auto again = default_train_job(memory(), stored, before, cluster_.now);
        EXPECT_TRUE(again && again->json_patch.empty()) << (again ? again->json_patch : again.error().message);
        return stored;
    }
    ref typed(ref document) { return test::as_typed(memory(), document, reference_); }
    ref without(ref document, std::initializer_list<std::string_view> above, std::string_view member) {
        editor out = editor::of(memory(), document);
        editor at = out;
        for (const auto step : above) at = at.child(step);
        at.remove(member);
        return doc::freeze(memory(), out);
    }
    doc::arena& memory() { return cluster_.memory; }

    cluster cluster_;
    std::vector<std::string> warnings_;
    ref reference_ = test::fields_of_the_reference(memory());
};

TEST_F(own_fields_kept, cost_other_jobs_nothing) {
    for (const auto* spec : {"", "suspend: true, trainer: {numNodes: 2}"}) {
        const auto done = default_train_job(memory(), load(spec), load(""), cluster_.now);
        EXPECT_TRUE(done && done->json_patch.empty() && done->warnings.empty());
    }
}

TEST_F(own_fields_kept, are_copied_to_annotations) {
    const ref stored = admit(load(std::string(overrides) + ", " + std::string(ttl), "annotations: {x: y}"));
    const ref annotations = stored.get({"metadata", "annotations"});
    EXPECT_EQ(annotations.get(names::overrides_annotation).as_string(), overrides_json);
    EXPECT_EQ(annotations.get(names::ttl_annotation).as_string(), "60");
    EXPECT_EQ(annotations.size(), 3U);
    EXPECT_TRUE(stored.get({"spec", names::fields_kept}).as_bool(false));
    EXPECT_TRUE(warnings_.empty());
}

TEST_F(own_fields_kept, come_back_from_a_client_that_does_not_know_them) {
    const ref stored = admit(load(overrides));
    const ref back = admit(typed(stored), stored);
    EXPECT_TRUE(equal(back, stored)) << doc::to_json(back);
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_TRUE(warnings_[0].contains("spec.podTemplateOverrides is kept")) << warnings_[0];
    EXPECT_TRUE(warnings_[0].contains(names::overrides_annotation)) << warnings_[0];
}

// A merge patch, a server-side apply or an editor leaves spec.fieldsKept alone.
TEST_F(own_fields_kept, go_when_a_client_that_knows_them_removes_them) {
    const ref stored = admit(load(std::string(overrides) + ", " + std::string(ttl)));
    const ref one = admit(without(stored, {"spec"}, "podTemplateOverrides"), stored);
    EXPECT_FALSE(value_at(one, overrides_path));
    EXPECT_TRUE(value_at(one, ttl_path));
    EXPECT_FALSE(one.get({"metadata", "annotations"}).contains(names::overrides_annotation));
    const ref none = admit(without(one, {"spec"}, "ttlSecondsAfterFinished"), one);
    EXPECT_TRUE(equal(none.get("spec"), load("").get("spec"))) << doc::to_json(none);
    EXPECT_TRUE(none.get({"metadata", "annotations"}).empty());
    EXPECT_TRUE(warnings_.empty());
}

// kubectl replace, or the copy removed by a typed client.
TEST_F(own_fields_kept, go_when_their_copies_go_with_them) {
    const ref stored = admit(load(std::string(overrides) + ", " + std::string(ttl)));
    const ref replaced = admit(load(""), stored);
    EXPECT_TRUE(equal(replaced, load(""))) << doc::to_json(replaced);
    const ref one = admit(without(typed(stored), {"metadata", "annotations"}, names::ttl_annotation), stored);
    EXPECT_TRUE(value_at(one, overrides_path));
    EXPECT_FALSE(value_at(one, ttl_path));
}

// The Python SDK of an older Trainer knows podTemplateOverrides and nothing else of ours.
TEST_F(own_fields_kept, are_changed_by_whoever_knows_them) {
    const ref stored = admit(load(std::string(overrides) + ", " + std::string(ttl)));
    const ref changed = admit(load("podTemplateOverrides: []",
                                   "annotations: {trainer.kubeflow.org/pod-template-overrides: "
                                   "'[1]', trainer.kubeflow.org/ttl-seconds-after-finished: '60'}"),
                              stored);
    EXPECT_TRUE(value_at(changed, overrides_path).is_array());
    EXPECT_EQ(value_at(changed, overrides_path).size(), 0U);
    EXPECT_EQ(changed.get({"metadata", "annotations", names::overrides_annotation}).as_string(), "[]");
    EXPECT_EQ(value_at(changed, ttl_path).as_int(), 60);
}

// Called once more after a webhook with the types of the reference, which dropped what ours had seen.
TEST_F(own_fields_kept, outlive_another_webhook_after_ours) {
    const auto through = [this](ref document, ref before) { return admit(typed(admit(document, before)), before); };
    const ref made = through(load(std::string(overrides) + ", " + std::string(ttl)), {});
    EXPECT_EQ(value_at(made, overrides_path).size(), 1U);
    EXPECT_EQ(value_at(made, ttl_path).as_int(), 60);
    const ref changed = through(load("ttlSecondsAfterFinished: 90, fieldsKept: true"), made);
    EXPECT_EQ(value_at(changed, ttl_path).as_int(), 90) << "not what was stored before";
    EXPECT_FALSE(value_at(changed, overrides_path));
    const ref added = through(load(overrides), load("suspend: true"));
    EXPECT_EQ(value_at(added, overrides_path).size(), 1U);
    const ref removed = through(load(""), made);
    EXPECT_TRUE(equal(removed.get("spec"), load("").get("spec"))) << doc::to_json(removed);
}

// Copies that were stored are not read on updates.
TEST_F(own_fields_kept, updates_bring_back_only_what_was_stored) {
    const ref stored = load("", "annotations: {trainer.kubeflow.org/ttl-seconds-after-finished: '60'}");
    EXPECT_EQ(default_train_job(memory(), stored, stored, cluster_.now)->json_patch, "");
    const ref changed =
        admit(load("suspend: true", "annotations: {trainer.kubeflow.org/ttl-seconds-after-finished: '60'}"), stored);
    EXPECT_FALSE(value_at(changed, ttl_path));
    EXPECT_TRUE(changed.get({"metadata", "annotations"}).empty());
}

// Kueue makes the job anew in another cluster: name, labels, annotations, and the spec as it knows it.
TEST_F(own_fields_kept, arrive_where_a_typed_client_copies_the_job_to) {
    const ref stored = admit(load(std::string(overrides) + ", " + std::string(ttl)));
    const ref copied = admit(typed(stored));
    EXPECT_TRUE(equal(copied, stored)) << doc::to_json(copied);
    const ref removed = admit(without(stored, {"spec"}, "ttlSecondsAfterFinished"));
    EXPECT_FALSE(value_at(removed, ttl_path)) << "this one knew it";
}

TEST_F(own_fields_kept, a_copy_that_is_no_json_is_refused_on_create_only) {
    const ref bad = load("", "annotations: {trainer.kubeflow.org/pod-template-overrides: '[{'}");
    const auto refused = default_train_job(memory(), bad, {}, cluster_.now);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.contains("metadata.annotations[trainer.kubeflow.org/pod-template-overrides]"))
        << refused.error().message;
    EXPECT_FALSE(default_train_job(
        memory(), load("", "annotations: {trainer.kubeflow.org/pod-template-overrides: '1'}"), {}, cluster_.now));
    EXPECT_TRUE(default_train_job(memory(), bad, bad, cluster_.now));
    EXPECT_TRUE(default_train_job(memory(), bad, load(""), cluster_.now));
}

// Stored by a version that made no copies: nothing shows who wrote it back.
TEST_F(own_fields_kept, stored_without_copies_come_back_once) {
    const ref old = load(overrides);
    const ref relabelled = load(overrides, "labels: {a: b}");
    EXPECT_EQ(default_train_job(memory(), relabelled, old, cluster_.now)->json_patch, "") << "its spec stays as it is";
    EXPECT_TRUE(equal(admit(load("", "labels: {a: b}"), old), relabelled));
    const ref admitted = admit(load("suspend: true"), old);
    EXPECT_TRUE(equal(value_at(admitted, overrides_path), value_at(old, overrides_path)));
    EXPECT_TRUE(has_fields_kept(admitted));
}

TEST_F(own_fields_kept, a_copy_that_was_taken_away_alone_comes_back) {
    const ref stored = admit(load(ttl));
    EXPECT_TRUE(equal(admit(without(stored, {"metadata"}, "annotations"), stored), stored));
    EXPECT_TRUE(equal(admit(without(stored, {"spec"}, names::fields_kept), stored), stored));
    EXPECT_FALSE(has_fields_kept(admit(load("fieldsKept: true"))));
}

TEST_F(own_fields_kept, are_protected_from_updates_however_large_they_are) {
    const std::string large = "podTemplateOverrides: [{targetJobs: [], metadata: {annotations: {big: '" +
                              std::string(field_copy_bytes_max, 'x') + "'}}}]";
    const ref stored = admit(load(large));
    EXPECT_EQ(stored.get({"metadata", "annotations", names::overrides_annotation}).text(), "");
    EXPECT_TRUE(stored.get({"metadata", "annotations"}).contains(names::overrides_annotation));
    EXPECT_TRUE(equal(admit(typed(stored), stored), stored));
    const ref copied = admit(typed(stored));
    EXPECT_FALSE(value_at(copied, overrides_path));
    ASSERT_EQ(warnings_.size(), 1U);
    EXPECT_TRUE(warnings_[0].contains("too large")) << warnings_[0];
}

// The API server would refuse the job for annotations that the user did not write.
TEST_F(own_fields_kept, copies_never_exceed_what_annotations_may_take) {
    const std::size_t name = names::overrides_annotation.size();
    for (const std::size_t room : {std::size_t{0}, name - 1, name, name + 1, name + overrides_json.size() - 1,
                                   name + overrides_json.size(), name + overrides_json.size() + 1}) {
        const ref stored =
            admit(load(overrides, "annotations: {x: '" + std::string(annotations_bytes_max - room - 1, 'y') + "'}"));
        const ref copy = stored.get({"metadata", "annotations", names::overrides_annotation});
        EXPECT_EQ(copy.is_string(), room >= name) << room;
        EXPECT_EQ(copy.text().empty(), room < name + overrides_json.size()) << room;
    }
}

// The section is immutable: without the field, and with rule self == oldSelf, the update would be refused.
TEST_F(own_fields_kept, inside_of_sections_come_back_while_the_section_is_there) {
    constexpr std::array<std::string_view, 3> path{"spec", "trainer", "devices"};
    const std::array fields{own_field{path, "example.com/devices"}};
    const auto pass = [&](ref document, ref before) {
        json_patch out(memory(), document);
        std::vector<std::string> warnings;
        EXPECT_TRUE(restore_own_fields(memory(), out, before, fields, warnings));
        copy_own_fields(memory(), out, fields);
        return doc::freeze(memory(), out.document());
    };
    const ref stored = pass(load("trainer: {numNodes: 2, devices: {a: 1}}"), {});
    ref known = load("trainer: {numNodes: 2}, suspend: true",
                     "annotations: {example.com/devices: '" + doc::to_json(value_at(stored, path)) + "'}");
    EXPECT_TRUE(equal(pass(known, stored).get({"spec", "trainer"}), stored.get({"spec", "trainer"})));
    known = without(known, {"spec"}, "trainer");
    EXPECT_FALSE(pass(known, stored).get("spec").contains("trainer"));
}

constexpr std::string_view owned_before =
    "managedFields: [{manager: argocd, operation: Apply, apiVersion: v1, fieldsV1: {'f:spec': "
    "{'f:podTemplateOverrides': {}}}}, "
    "{manager: kubectl, operation: Update, apiVersion: v1, time: t, fieldsV1: {'f:spec': {'f:suspend': {}, "
    "'f:podTemplateOverrides': {}}}}, {manager: other, operation: Update, fieldsV1: {'f:spec': {'f:suspend': {}}}}]";

// As the API server sends it: who owned nothing but the dropped field is gone from the list.
TEST_F(own_fields_kept, come_back_to_those_who_own_them) {
    const ref stored = admit(load(overrides, owned_before));
    ref dropped = typed(stored);
    editor out = editor::of(memory(), dropped);
    out.child("metadata")
        .set("managedFields", load("",
                                   "managedFields: [{manager: kubectl, operation: Update, apiVersion: v1, time: t, "
                                   "fieldsV1: {'f:spec': {'f:suspend': {}}}}, {manager: other, operation: "
                                   "Update, fieldsV1: {'f:spec': {'f:suspend': {}}}}, {manager: kueue, "
                                   "operation: Update, fieldsV1: {'f:metadata': {}}}]")
                                  .get({"metadata", "managedFields"}));
    const ref owners = admit(doc::freeze(memory(), out), stored).get({"metadata", "managedFields"});
    ASSERT_EQ(owners.size(), 4U);
    for (const auto* manager : {"argocd", "kubectl"}) {
        const ref owned = owners.find_by("manager", manager).get({"fieldsV1", "f:spec"});
        EXPECT_TRUE(owned.contains("f:podTemplateOverrides")) << doc::to_json(owners);
    }
    EXPECT_TRUE(owners.find_by("manager", "kubectl").get({"fieldsV1", "f:spec"}).contains("f:suspend"));
    for (const auto* manager : {"other", "kueue"}) {
        const ref owned = owners.find_by("manager", manager).get({"fieldsV1", "f:spec"});
        EXPECT_FALSE(owned.contains("f:podTemplateOverrides")) << doc::to_json(owners);
    }
}

TEST_F(own_fields_kept, never_keep_an_object_from_losing_its_finalizer) {
    constexpr std::string_view leaving = "deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [a.b/c]";
    const ref stored = admit(load(overrides, leaving));
    const ref gone = without(typed(stored), {"metadata"}, "finalizers");
    const auto r = cluster_.update(hook::default_train_job, gone, stored);
    EXPECT_TRUE(r.allowed) << r.message;
    EXPECT_EQ(r.warnings.size(), 1U);
    const ref admitted = admit(gone, stored);
    EXPECT_TRUE(cluster_.update(hook::validate_train_job, admitted, stored).allowed);
}

// Values that fit a schema.
ref any_value(doc::arena& memory, const schema::node& type, std::mt19937& random, unsigned depth = 0) {
    const auto draw = [&](unsigned below) { return static_cast<unsigned>(random()) % below; };
    switch (type.type) {
        case schema::value_type::object: {
            editor out = editor::object(memory);
            for (const auto& p : type.properties) {
                if (p.required || (depth < 5 && draw(4) == 0)) {
                    out.set(std::string_view(p.name), any_value(memory, *p.value, random, depth + 1));
                }
            }
            if (type.values && draw(2) == 0) out.set("any", any_value(memory, *type.values, random, depth + 1));
            return doc::freeze(memory, out);
        }
        case schema::value_type::array: {
            editor out = editor::array(memory);
            for (unsigned n = draw(3); n > 0 && type.items; --n)
                out.append(any_value(memory, *type.items, random, depth + 1));
            return doc::freeze(memory, out);
        }
        case schema::value_type::integer:
        case schema::value_type::number: return ref::make_int(memory, draw(1000));
        case schema::value_type::boolean: return ref::make_bool(draw(2) == 0);
        case schema::value_type::int_or_string: return ref::make_string("1");
        default: break;
    }
    if (type.format == schema::value_format::date_time) return ref::make_string("2026-01-02T03:04:05Z");
    constexpr std::string_view texts[] = {"", "a", "\"quoted\"\n", "\\ü~/", "0"};
    return ref::make_string(texts[draw(5)]);
}

class random_clients : public own_fields_kept {
   public:
    const schema::node& type_of(const own_field& f) {
        const schema::node* type = schema::schema_of(names::train_job_kind);
        for (const auto step : f.path) type = type->find(step)->value.get();
        return *type;
    }
    // Some of our fields get a value, some lose theirs, some stay.
    ref shuffled(ref document, std::mt19937& random) {
        editor out = editor::of(memory(), document);
        for (const own_field& f : own_fields()) {
            editor above = out;
            for (const auto step : f.path.first(f.path.size() - 1)) above = above.ensure_object(step);
            const unsigned choice = static_cast<unsigned>(random()) % 3;
            if (choice == 0) above.remove(f.path.back());
            if (choice == 1) above.set(f.path.back(), any_value(memory(), type_of(f), random));
        }
        return doc::freeze(memory(), out);
    }
    ref suspended(ref document, bool value) {
        editor out = editor::of(memory(), document);
        out.child("spec").set("suspend", value);
        return doc::freeze(memory(), out);
    }
};

void expect_same_fields(ref a, ref b) {
    for (const own_field& f : own_fields()) {
        const ref in_a = value_at(a, f.path);
        const ref in_b = value_at(b, f.path);
        EXPECT_TRUE(in_a.is_unset() ? in_b.is_unset() : equal(in_a, in_b)) << doc::to_json(a) << "\n"
                                                                           << doc::to_json(b);
    }
}

TEST_F(random_clients, lose_nothing_and_always_have_their_way) {
    std::mt19937 random(11);
    for (int run = 0; run < 300; ++run) {
        ref stored = admit(shuffled(load("trainer: {numNodes: 2}"), random));
        for (int step = 0; step < 4; ++step) {
            // One that does not know our fields changes what it knows…
            const ref written = suspended(typed(stored), step % 2 == 0);
            const ref kept = admit(written, stored);
            expect_same_fields(kept, stored);
            EXPECT_EQ(kept.get({"spec", "suspend"}).as_bool(), step % 2 == 0);
            // …and one that does changes them.
            const ref wanted = shuffled(kept, random);
            stored = admit(wanted, kept);
            expect_same_fields(stored, wanted);
            if (HasFailure()) return;
        }
    }
}

}  // namespace
}  // namespace cotrain::admission
