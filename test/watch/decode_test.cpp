// Decoding of events, pages and kinds: what is found, and which garbage is refused where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "doc/json.hpp"
#include "support/watch_samples.hpp"
#include "watch/decode.hpp"

namespace cotrain::watch {
namespace {

using testing::HasSubstr;

TEST(decode_event, finds_what_is_used) {
    const std::string line = test::watch_line("MODIFIED", test::job_set_of({}, "other-uid", "99"));
    event_view e;
    job_set_parts parts;
    const auto done = decode_event(line, e, &parts);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(parts.failure);
    EXPECT_EQ(e.type, event_type::modified);
    EXPECT_EQ(e.object.kind.raw, "JobSet");
    EXPECT_EQ(e.object.api_version.raw, "jobset.x-k8s.io/v1alpha2");
    EXPECT_EQ(e.object.name.raw, "torch-000123");
    EXPECT_EQ(e.object.ns.raw, "team-a");
    EXPECT_EQ(e.object.uid.raw, "other-uid");
    EXPECT_EQ(e.object.resource_version.raw, "99");
    EXPECT_EQ(e.object.generation, 1);
    EXPECT_EQ(e.object.creation_time.raw, "2026-05-04T10:11:13Z");
    EXPECT_FALSE(e.object.deleting());
    EXPECT_EQ(e.object.labels, R"({"team":"a"})");
    EXPECT_EQ(e.object.controller.kind.raw, "TrainJob");
    EXPECT_EQ(e.object.controller.name.raw, "torch-000123");
    EXPECT_EQ(e.object.controller.uid.raw, test::sample_job{}.uid);
    EXPECT_TRUE(e.object.spec.starts_with(R"({"network":)"));
    EXPECT_TRUE(e.object.spec.ends_with(R"("suspend":false})"));
    EXPECT_TRUE(e.object.status.ends_with(R"("restarts":0})"));
    ASSERT_EQ(parts.status.jobs.size(), 1U);
    EXPECT_EQ(parts.status.jobs[0].active, 4);
    EXPECT_EQ(parts.status.jobs[0].name.raw, "node");
}

TEST(decode_event, reads_train_jobs) {
    test::sample_job job;
    job.suspend = true;
    job.terminal = "Complete";
    const std::string line = test::watch_line("ADDED", test::running_train_job(job));
    event_view e;
    train_job_parts parts;
    for (int i = 0; i < 2; ++i) {  // readers are reused
        ASSERT_TRUE(decode_event(line, e, &parts));
        EXPECT_EQ(parts.spec.runtime.name.raw, "torch-distributed");
        EXPECT_EQ(parts.spec.runtime.kind.raw, "ClusterTrainingRuntime");
        EXPECT_EQ(parts.spec.managed_by.raw, "trainer.kubeflow.org/trainjob-controller");
        EXPECT_TRUE(parts.spec.suspend);
        EXPECT_EQ(parts.spec.ttl_seconds, -1);
        ASSERT_EQ(parts.status.conditions.size(), 2U);
        EXPECT_EQ(parts.status.conditions[0].type.raw, "Suspended");
        EXPECT_EQ(parts.status.conditions[0].status, truth::yes);
        EXPECT_EQ(parts.status.conditions[1].type.raw, "Complete");
        EXPECT_EQ(parts.status.conditions[1].last_transition_time.raw, "2026-05-04T11:12:13Z");
        ASSERT_EQ(parts.status.jobs.size(), 1U);
    }
}

TEST(decode_event, understands_any_json_that_means_the_same) {
    const std::string line =
        "{ \"object\" : {\n\t\"spec\":{\"suspend\" : true , \"runtimeRef\":null},"
        R"("metadata":{"name":"a\u0062\n\"","finalizers":["x","y\/z"],"uid":null},"kind":"K"},)"
        R"("more":[{}, [], 1.5e3, true, null, "}"],"type":"DELETED"})"
        "\n";
    event_view e;
    train_job_parts parts;
    const auto done = decode_event(line, e, &parts);
    ASSERT_TRUE(done) << done.error().message;
    std::string scratch;
    EXPECT_EQ(e.object.name.value(scratch), "ab\n\"");
    EXPECT_TRUE(e.object.uid.empty());
    EXPECT_TRUE(has_text(e.object.finalizers, "y/z"));
    EXPECT_FALSE(has_text(e.object.finalizers, "y"));
    EXPECT_EQ(e.type, event_type::deleted);
    EXPECT_TRUE(parts.spec.suspend);
}

TEST(decode_event, knows_the_end_of_the_initial_events) {
    event_view e;
    ASSERT_TRUE(decode_event(R"({"type":"BOOKMARK","object":{"kind":"TrainJob","apiVersion":"v","metadata":{)"
                             R"("resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}})",
                             e));
    EXPECT_EQ(e.type, event_type::bookmark);
    EXPECT_TRUE(e.object.annotations.initial_events_end.is("true"));
    ASSERT_TRUE(decode_event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}})", e));
    EXPECT_FALSE(e.object.annotations.initial_events_end.is("true"));
}

TEST(decode_event, reads_errors) {
    event_view e;
    ASSERT_TRUE(decode_event(R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},)"
                             R"("status":"Failure","message":"too old: \"1\"","reason":"Expired","code":410}})",
                             e));
    const status_view s = decode_status(e.object);
    EXPECT_EQ(s.code, 410);
    EXPECT_EQ(s.reason, "Expired");
    EXPECT_EQ(s.message, "too old: \"1\"");
}

struct bad_line {
    const char* text;
    const char* says;
};

TEST(decode_event, refuses_garbage_and_says_where) {
    const bad_line cases[] = {
        {"", "at byte 0"},
        {"x", "at byte 0"},
        {"null", "at byte 0"},
        {"{}", "no type or no object"},
        {R"({"type":"ADDED"})", "no type or no object"},
        {R"({"object":{}})", "no type or no object"},
        {R"({"type":"ADDED","object":null})", "no type or no object"},
        {R"({"type":"ADDED","object":{})", "at byte 27"},
        {R"({"type":"ADDED","object":{}}x)", "at byte 28"},
        {R"({"type":"ADDED","object":{"metadata":{"name":5}}})", "at byte 45: expected quote"},
        {R"({"type":"ADDED","object":{"metadata":{"name":"x}}})", "at byte"},
        {R"({"type":"ADDED","object":{"spec":{"a":[}}}})", "at byte 39"},
        {R"({"type":"ADDED","object":{"spec":{"a":[}]}})", "at byte 39"},
        {R"({"type":"ADDED","object":{"spec":{"a":[1,2}})", "at byte 42"},
        {R"({"type":"ADDED","object":{"spec":{"a":tru}}})", "at byte"},
        {R"({"type":"ADDED","object":{"more":{"a":01x}}})", "at byte"},
        {R"({"type":"ADDED","object":{"more":"\q"}})", "at byte"},
        {"{\"type\":\"ADDED\",\"object\":{\"more\":\"a\tb\"}}", "at byte"},
        {"{\"type\":\"ADDED\",\"object\":{\"more\":\"\xff\"}}", "at byte"},
        {"{\"type\":\"ADDED\",\"object\":{\"metadata\":{\"name\":\"\xc3(\"}}}", "at byte"},
        {R"({"type":"ADDED",,"object":{}})", "at byte 16: expected quote"},
        {R"({"type":"ADDED","object":{"kind":"a",}})", "at byte 37: expected quote"},
        {R"({"type" "ADDED","object":{}})", "at byte 8: expected colon"},
        {R"({"type":"ADDED","object":{"code":nul}})", "at byte"},
        {R"({"type":"ADDED","object":{"metadata":{"generation":1.5}}})", "at byte"},
        {R"({"type":"ADDED","object":{"metadata":{"generation":99999999999999999999}}})", "at byte"},
        {R"({"type":"ADDED","object":{"metadata":{"ownerReferences":[{},]}}})", "at byte"},
    };
    for (const bad_line& c : cases) {
        event_view e;
        const auto done = decode_event(c.text, e);
        ASSERT_FALSE(done) << c.text;
        EXPECT_EQ(done.error().code, base::errc::decode);
        EXPECT_THAT(done.error().message, HasSubstr(c.says)) << c.text;
    }
}

// Half a line, cut anywhere, is never taken for a whole one.
TEST(decode_event, refuses_every_prefix) {
    const std::string line = test::watch_line("ADDED", test::running_train_job({}));
    for (std::size_t n = 0; n < line.size(); ++n) {
        const std::string part = line.substr(0, n);
        event_view e;
        train_job_parts parts;
        ASSERT_FALSE(decode_event(part, e, &parts)) << n;
    }
}

// An older CRD let these in: the object is known, its part is reported, nobody else suffers.
TEST(decode_event, keeps_an_object_whose_spec_is_not_what_it_should_be) {
    event_view e;
    train_job_parts parts;
    ASSERT_TRUE(decode_event(R"({"type":"ADDED","object":{"metadata":{"name":"odd"},"spec":{"suspend":"yes","x":1},)"
                             R"("status":{"jobsStatus":[{"name":"n","active":2}]}}})",
                             e, &parts));
    ASSERT_TRUE(parts.failure);
    EXPECT_THAT(parts.failure->message, HasSubstr("spec: unexpected JSON at byte 74: expected true or false"));
    EXPECT_EQ(e.object.name.raw, "odd");
    EXPECT_EQ(e.object.spec, R"({"suspend":"yes","x":1})");
    EXPECT_EQ(parts.status.jobs.size(), 1U);
    ASSERT_TRUE(decode_event(test::watch_line("ADDED", test::new_train_job({})), e, &parts));
    EXPECT_FALSE(parts.failure);
}

TEST(decode_event, bounds_lists) {
    std::string conditions;
    for (int i = 0; i < 100; ++i) conditions += R"({"type":"T","status":"True"},)";
    conditions.pop_back();
    event_view e;
    train_job_parts parts;
    ASSERT_TRUE(
        decode_event(test::watch_line("ADDED", R"({"status":{"conditions":[)" + conditions + "]}}"), e, &parts));
    EXPECT_TRUE(parts.failure);
    EXPECT_LE(parts.status.conditions.size(), conditions_max);
}

// Tenants may nest what they write: it costs their object at most, never the watch.
TEST(decode_event, stands_any_depth) {
    constexpr std::size_t levels = 100'000;
    const auto nested = [](std::string_view open, std::string_view close) {
        std::string text;
        for (std::size_t i = 0; i < levels; ++i) text.append(open);
        text.append("1");
        for (std::size_t i = 0; i < levels; ++i) text.append(close);
        return text;
    };
    const std::string deep = nested(R"({"f:a":)", "}");
    event_view e;
    train_job_parts parts;
    const auto line = [](const std::string& object) { return test::watch_line("ADDED", object); };
    const std::string fields = line(R"({"metadata":{"managedFields":[{"fieldsV1":)" + deep + R"(}],"name":"x"}})");
    ASSERT_TRUE(decode_event(fields, e));
    EXPECT_EQ(e.object.name.raw, "x");
    for (const std::string& spec : {deep, nested("[", "]")}) {
        const std::string text = line(R"({"spec":)" + spec + R"(,"metadata":{"name":"y"}})");
        const auto done = decode_event(text, e, &parts);
        ASSERT_TRUE(done) << done.error().message;
        ASSERT_TRUE(parts.failure);
        EXPECT_EQ(e.object.spec.size(), spec.size());
        EXPECT_EQ(e.object.name.raw, "y");
        ASSERT_TRUE(decode_event(text, e));
        EXPECT_EQ(e.object.spec.size(), spec.size());
    }
    EXPECT_FALSE(decode_event(line(R"({"more":)" + deep + "}"), e));
}

TEST(decode_event, takes_the_last_of_what_is_there_twice) {
    const std::string_view line =
        R"({"type":"ADDED","object":{"metadata":{"uid":"gone"},"spec":{"suspend":true}},"type":"MODIFIED",)"
        R"("object":{"metadata":{"name":"a","name":"b"},"status":{"conditions":[{"type":"x","reason":"r"}],)"
        R"("conditions":[{"type":"y"}]}}})";
    event_view e;
    train_job_parts parts;
    ASSERT_TRUE(decode_event(line, e, &parts));
    EXPECT_EQ(e.type, event_type::modified);
    EXPECT_EQ(e.object.name.raw, "b");
    EXPECT_TRUE(e.object.uid.empty());
    EXPECT_FALSE(parts.spec.suspend);
    ASSERT_EQ(parts.status.conditions.size(), 1U);
    EXPECT_EQ(parts.status.conditions[0].type.raw, "y");
    EXPECT_TRUE(parts.status.conditions[0].reason.empty());
}

// Member names as the API server writes them, and no others.
TEST(decode_event, knows_no_names_with_escapes) {
    event_view e;
    ASSERT_TRUE(decode_event(R"({"type":"ADDED","object":{"\u006detadata":{"name":"x"}}})", e));
    EXPECT_TRUE(e.object.name.empty());
}

TEST(decode_page, goes_through_items_in_any_order_of_members) {
    const std::string item = test::new_train_job({});
    const std::string meta = R"("metadata":{"resourceVersion":"77","continue":"tok\/en","remainingItemCount":3})";
    for (const std::string& page :
         {"{\"items\":[" + item + "," + item + "]," + meta + "}",
          "{" + meta + ",\"kind\":\"TrainJobList\",\"items\":[ " + item + " , " + item + "]}"}) {
        train_job_parts parts;
        int count = 0;
        const auto end = decode_page(page, &parts, [&](const object_view& o) {
            ++count;
            EXPECT_EQ(o.name.raw, "torch-000123");
            EXPECT_EQ(parts.spec.runtime.name.raw, "torch-distributed");
        });
        EXPECT_EQ(count, 2);
        ASSERT_TRUE(end) << end.error().message;
        EXPECT_EQ(end->resource_version, "77");
        EXPECT_EQ(end->continue_token, "tok/en");
        EXPECT_EQ(end->remaining, 3);
    }
}

TEST(decode_page, refuses_what_is_no_page) {
    const auto ignored = [](const object_view&) {};
    for (const char* text :
         {"", "{}", "[]", R"({"items":[]})", R"({"items":[],"metadata":{}})", R"({"metadata":{"resourceVersion":"1"}})",
          R"({"items":[5],"metadata":{"resourceVersion":"1"}})",
          R"({"items":[{},],"metadata":{"resourceVersion":"1"}})",
          R"({"items":[{}{}],"metadata":{"resourceVersion":"1"}})",
          R"({"items":[{},"metadata":{"resourceVersion":"1"}})",
          R"({"items":[],"metadata":{"resourceVersion":"1"}})"
          "x"})
        EXPECT_FALSE(decode_page(text, {}, ignored)) << text;
    EXPECT_TRUE(decode_page(R"({"items":null,"metadata":{"resourceVersion":"1"}})", {}, ignored));
}

TEST(decode_runtime_classes, finds_each_once) {
    object_view o;
    const std::string job = R"({"name":"n","template":{"spec":{"template":{"spec":{"runtimeClassName":"gvisor"}}}}})";
    const std::string text = R"({"spec":{"runtimeClassName":"no","template":{"spec":{"replicatedJobs":[)" + job + "," +
                             job +
                             R"(,{"template":{"spec":{"template":{"spec":{"runtimeClassName":"kata"}}}}},{}]}}}})";
    ASSERT_TRUE(decode_object(text, o));
    const auto classes = decode_runtime_classes(o);
    ASSERT_TRUE(classes);
    ASSERT_EQ(classes->size(), 2U);
    EXPECT_EQ((*classes)[0].raw, "gvisor");
    EXPECT_EQ((*classes)[1].raw, "kata");
}

}  // namespace
}  // namespace cotrain::watch
