// Skipping, decoding of events, pages and kinds: what is found, and which garbage is refused where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/random.hpp"
#include "support/watch_samples.hpp"
#include "watch/kinds.hpp"
#include "watch/object_view.hpp"
#include "watch/skip.hpp"

namespace cotrain::watch {
namespace {

using testing::HasSubstr;

std::vector<skip_level> levels() {
    std::vector<skip_level> all{skip_level::portable};
    if (skip_level_best() != skip_level::portable) all.push_back(skip_level::sse2);
    if (skip_level_best() == skip_level::avx2) all.push_back(skip_level::avx2);
    return all;
}

// The same byte by byte, as the definition says. A backslash outside a string, which is no JSON, counts as one inside.
skip_result plain_skip(const char* p, const char* end, char close) {
    long depth = 1;
    long curly = 0;
    for (; p != end; ++p) {
        if (*p == '\\' && end - p > 1 && (p[1] == '"' || p[1] == '\\')) {
            ++p;
        } else if (*p == '"') {
            const skip_result s = skip_string(p + 1, end);
            if (s.fault != skip_fault::none) return {end, skip_fault::unterminated, false};
            p = s.end - 1;
        } else if (*p == '{' || *p == '[') {
            ++depth;
            curly += *p == '{' ? 1 : 0;
        } else if (*p == '}' || *p == ']') {
            if (--depth == 0) {
                if (*p != close || curly != 0) return {p, skip_fault::mismatched, false};
                return {p + 1, skip_fault::none, false};
            }
            curly -= *p == '}' ? 1 : 0;
        }
    }
    return {end, skip_fault::unterminated, false};
}

void same_everywhere(const std::string& text) {
    const char* const end = text.data() + text.size();
    for (const char close : {'}', ']'}) {
        const skip_result expected = plain_skip(text.data(), end, close);
        for (const skip_level level : levels()) {
            const skip_result got = skip_container_at(level, text.data(), end, close);
            ASSERT_EQ(got.end - text.data(), expected.end - text.data())
                << "level " << static_cast<int>(level) << ": " << text;
            ASSERT_EQ(got.fault, expected.fault) << "level " << static_cast<int>(level) << ": " << text;
        }
    }
}

TEST(skip, all_levels_agree_with_the_definition) {
    base::random_source random(7);
    for (int i = 0; i < 20'000; ++i) {
        constexpr std::string_view letters = R"({}[]{}[]"\\",: ax)";
        std::string text;
        for (auto n = random.next() % 300; n > 0; --n) text.push_back(letters[random.next() % letters.size()]);
        same_everywhere(text);
    }
}

TEST(skip, all_levels_agree_on_deep_and_balanced_text) {
    base::random_source random(8);
    for (int i = 0; i < 3000; ++i) {
        std::string text;
        std::string open = "{";
        while (!open.empty() && text.size() < 2000) {
            const auto dice = random.next() % 10;
            if (dice < 3) {
                open.push_back(dice == 0 ? '[' : '{');
                text.push_back(open.back());
            } else if (dice < 6) {
                text.push_back(open.back() == '{' ? '}' : ']');
                open.pop_back();
            } else {
                text += std::string(R"("a\")") + std::string(2 * (random.next() % 40), '\\') + R"(}]{")";
            }
        }
        for (; !open.empty(); open.pop_back()) text.push_back(open.back() == '{' ? '}' : ']');
        const std::string whole = text + "]]}} tail";
        const skip_result got = skip_container(whole.data(), whole.data() + whole.size(), '}');
        ASSERT_EQ(got.fault, skip_fault::none) << whole;
        ASSERT_EQ(got.end - whole.data(), static_cast<long>(text.size())) << whole;
        same_everywhere(whole);
    }
}

TEST(decode_event, finds_what_is_used) {
    const std::string line = test::watch_line("MODIFIED", test::job_set_of({}, "other-uid", "99"));
    event_view e;
    job_set_reader parts;
    const auto done = decode_event(line, e, &parts);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_FALSE(parts.failure());
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
    train_job_reader parts;
    for (int i = 0; i < 2; ++i) {  // readers are reused
        ASSERT_TRUE(decode_event(line, e, &parts));
        EXPECT_EQ(parts.runtime_name.raw, "torch-distributed");
        EXPECT_EQ(parts.runtime_kind.raw, "ClusterTrainingRuntime");
        EXPECT_EQ(parts.runtime_group.raw, "trainer.kubeflow.org");
        EXPECT_EQ(parts.managed_by.raw, "trainer.kubeflow.org/trainjob-controller");
        EXPECT_TRUE(parts.suspend);
        EXPECT_EQ(parts.ttl_seconds, -1);
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
        R"("\u006detadata":{"name":"a\u0062\n\"","finalizers":["x","y\/z"],"uid":null},"kind":"K"},)"
        R"("more":[{}, [], 1.5e3, true, null, "}"],"type":"DELETED"})"
        "\n";
    event_view e;
    train_job_reader parts;
    const auto done = decode_event(line, e, &parts);
    ASSERT_TRUE(done) << done.error().message;
    std::string scratch;
    EXPECT_EQ(e.object.name.value(scratch), "ab\n\"");
    EXPECT_TRUE(e.object.uid.empty());
    EXPECT_TRUE(has_text(e.object.finalizers, "y/z"));
    EXPECT_FALSE(has_text(e.object.finalizers, "y"));
    EXPECT_EQ(e.type, event_type::deleted);
    EXPECT_TRUE(parts.suspend);
}

TEST(decode_event, knows_the_end_of_the_initial_events) {
    event_view e;
    ASSERT_TRUE(decode_event(R"({"type":"BOOKMARK","object":{"kind":"TrainJob","apiVersion":"v","metadata":{)"
                             R"("resourceVersion":"12","annotations":{"k8s.io/initial-events-end":"true"}}}})",
                             e));
    EXPECT_EQ(e.type, event_type::bookmark);
    EXPECT_TRUE(ends_initial_events(e.object));
    ASSERT_TRUE(decode_event(R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"12"}}})", e));
    EXPECT_FALSE(ends_initial_events(e.object));
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
        {"", "expected an object at byte 0"},
        {"x", "expected an object at byte 0"},
        {"null", "no type or no object"},
        {"{}", "no type or no object"},
        {R"({"type":"ADDED"})", "no type or no object"},
        {R"({"object":{}})", "no type or no object"},
        {R"({"type":"ADDED","object":{})", "comma or the end of the object at byte 27"},
        {R"({"type":"ADDED","object":{}}x)", "expected the end of the text at byte 28"},
        {R"({"type":"ADDED","object":{"metadata":{"name":5}}})", "expected a string at byte 45"},
        {R"({"type":"ADDED","object":{"metadata":{"name":"x}}})", "expected the end of a string"},
        {R"({"type":"ADDED","object":{"spec":{"a":[}}}})", "expected matching brackets at byte 40"},
        {R"({"type":"ADDED","object":{"spec":{"a":[}]}})", "expected"},
        {R"({"type":"ADDED","object":{"spec":{"a":[1,2}})", "expected"},
        {R"({"type":"ADDED",,"object":{}})", "expected a member's name at byte 16"},
        {R"({"type":"ADDED","object":{"kind":"a",}})", "expected a member's name at byte 37"},
        {R"({"type" "ADDED","object":{}})", "expected a colon at byte 8"},
        {R"({"type":"ADDED","object":{"code":nul}})", "expected a value at byte 33"},
        {R"({"type":"ADDED","object":{"metadata":{"generation":1.5}}})", "expected an integer at byte 51"},
        {R"({"type":"ADDED","object":{"metadata":{"generation":99999999999999999999}}})", "expected an integer"},
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
        train_job_reader parts;
        ASSERT_FALSE(decode_event(part, e, &parts)) << n;
    }
}

// An older CRD let these in: the object is known, its part is reported, nobody else suffers.
TEST(decode_event, keeps_an_object_whose_spec_is_not_what_it_should_be) {
    event_view e;
    train_job_reader parts;
    ASSERT_TRUE(decode_event(R"({"type":"ADDED","object":{"metadata":{"name":"odd"},"spec":{"suspend":"yes","x":1},)"
                             R"("status":{"jobsStatus":[{"name":"n","active":2}]}}})",
                             e, &parts));
    ASSERT_TRUE(parts.failure());
    EXPECT_THAT(parts.failure()->message, HasSubstr("spec: expected true or false at byte"));
    EXPECT_EQ(e.object.name.raw, "odd");
    EXPECT_EQ(e.object.spec, R"({"suspend":"yes","x":1})");
    EXPECT_EQ(parts.status.jobs.size(), 1U);
    ASSERT_TRUE(decode_event(test::watch_line("ADDED", test::new_train_job({})), e, &parts));
    EXPECT_FALSE(parts.failure());
}

TEST(decode_event, bounds_lists) {
    std::string conditions;
    for (int i = 0; i < 100; ++i) conditions += R"({"type":"T","status":"True"},)";
    conditions.pop_back();
    event_view e;
    train_job_reader parts;
    ASSERT_TRUE(
        decode_event(test::watch_line("ADDED", R"({"status":{"conditions":[)" + conditions + "]}}"), e, &parts));
    EXPECT_TRUE(parts.failure());
    EXPECT_LE(parts.status.conditions.size(), conditions_max);
}

TEST(page_reader, goes_through_items_in_any_order_of_members) {
    const std::string item = test::new_train_job({});
    const std::string meta = R"("metadata":{"resourceVersion":"77","continue":"tok\/en","remainingItemCount":3})";
    for (const std::string& page :
         {"{\"items\":[" + item + "," + item + "]," + meta + "}",
          "{" + meta + ",\"kind\":\"TrainJobList\",\"items\":[ " + item + " , " + item + "]}"}) {
        page_reader reader(page);
        object_view o;
        train_job_reader parts;
        int count = 0;
        while (reader.next(o, &parts)) {
            ++count;
            EXPECT_EQ(o.name.raw, "torch-000123");
            EXPECT_EQ(parts.runtime_name.raw, "torch-distributed");
        }
        EXPECT_EQ(count, 2);
        const auto end = reader.finish();
        ASSERT_TRUE(end) << end.error().message;
        EXPECT_EQ(end->resource_version, "77");
        EXPECT_EQ(end->continue_token, "tok/en");
        EXPECT_EQ(end->remaining, 3);
    }
}

TEST(page_reader, refuses_what_is_no_page) {
    for (const char* text : {"", "{}", "[]", R"({"items":[]})", R"({"items":[],"metadata":{}})",
                             R"({"items":[5],"metadata":{"resourceVersion":"1"}})",
                             R"({"items":[{},],"metadata":{"resourceVersion":"1"}})",
                             R"({"items":[{}{}],"metadata":{"resourceVersion":"1"}})",
                             R"({"items":[{},"metadata":{"resourceVersion":"1"}})",
                             R"({"items":[],"metadata":{"resourceVersion":"1"}})"
                             "x"}) {
        page_reader reader(text);
        object_view o;
        while (reader.next(o)) {
        }
        EXPECT_FALSE(reader.finish()) << text;
    }
    page_reader empty(R"({"items":null,"metadata":{"resourceVersion":"1"}})");
    object_view o;
    EXPECT_FALSE(empty.next(o));
    EXPECT_TRUE(empty.finish());
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
