// Results as files and for people.
#include "bench/report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "base/read_file.hpp"
#include "bench/child.hpp"
#include "bench/formats.hpp"
#include "crd/check.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::bench {
namespace {

bench_result sample() {
    bench_result out{.load = "10 torch jobs", .server = "embedded", .version = "1.2.3"};
    for (const double factor : {1.0, 10.0}) {
        controller_result made{.name = factor == 1 ? "cotrain" : "a<b", .command = "run & \"go\""};
        made.metrics["p50_ms"] = {1 * factor, 2 * factor, 3 * factor, 4 * factor, 5 * factor, 6 * factor};
        made.metrics["requests_per_job"] = {2, 2, 2, 2, 2, 2};
        made.curve = {{0, 1 * factor}, {0.5, 2 * factor}, {0.99, 6 * factor}};
        made.samples = {{0, 0, 10, 0}, {1, .1 * factor, 11, 50}, {2, .2 * factor, 12, 100}};
        made.traffic = {{"patch jobsets", {100, 2000, 30'000, 20, 10}}};
        made.traffic_jobs = 100;
        out.controllers.push_back(std::move(made));
    }
    return out;
}

TEST(bench_result, survives_its_file) {
    const std::string text = to_json(sample());
    const auto read = read_bench_result(text);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(to_json(*read), text);
    EXPECT_EQ(read->load, "10 torch jobs");
    ASSERT_EQ(read->controllers.size(), 2U);
    EXPECT_EQ(read->controllers[1].name, "a<b");
    EXPECT_EQ(read->controllers[1].metrics.at("p50_ms")[2], 30);
    EXPECT_EQ(read->controllers[1].traffic.at("patch jobsets").bytes_received, 30'000U);
    EXPECT_EQ(read->controllers[1].samples.at(2).jobs, 100U);
}

// The published schema: nothing is missing, of another type, or left out of it.
TEST(bench_result, is_as_its_schema_says) {
    const std::string text =
        base::read_file(std::string(COTRAIN_SOURCE_DIR) + "/docs/bench-result.schema.json", 1U << 20U).value();
    doc::arena memory;
    const auto document = doc::parse_json(memory, text);
    ASSERT_TRUE(document) << document.error().message;
    doc::editor openapi = doc::editor::of(memory, *document);
    openapi.remove("$schema");
    openapi.remove("title");
    const auto schema = crd::read_schema(openapi);
    ASSERT_TRUE(schema) << schema.error().message;
    const std::string json = to_json(sample());
    const auto result = doc::parse_json(memory, json);
    ASSERT_TRUE(result);
    for (const crd::violation& each : crd::check(*schema, *result)) ADD_FAILURE() << to_string(each);
    EXPECT_THAT(crd::shape(memory, *schema, *result).unknown_fields, testing::IsEmpty());
}

TEST(bench_result, other_files_are_refused) {
    EXPECT_FALSE(read_bench_result("{"));
    const auto other = read_bench_result("{}");
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().message, "this is no result of cotrain bench --json");
}

TEST(bench_report, figures_have_three_digits) {
    EXPECT_EQ(figure(0.12345), "0.123");
    EXPECT_EQ(figure(1.2345), "1.23");
    EXPECT_EQ(figure(12.345), "12.3");
    EXPECT_EQ(figure(123.45), "123");
    EXPECT_EQ(figure(1234567.0), "1,234,567");
    EXPECT_EQ(figure(std::vector<double>{2, 2, 2}), "2.00");
    EXPECT_EQ(figure(std::vector<double>{1, 2, 3}), "2.00 (1.00 to 3.00)");
}

TEST(bench_report, tables_have_a_column_for_each_controller) {
    const std::string text = bench_table(sample(), {});
    EXPECT_NE(text.find("create → done, p50, ms"), std::string::npos) << text;
    EXPECT_NE(text.find("3.50 (1.00 to 6.00)   35.0 (10.0 to 60.0)"), std::string::npos) << text;
    EXPECT_NE(text.find("1.00 (20.0, 300); 0.200 changed nothing; 0.100 conflicts"), std::string::npos) << text;
    EXPECT_EQ(text.find("p99"), std::string::npos) << "nobody measured it";
}

TEST(bench_formats, other_programs_read_them) {
    const std::string lines = to_benchstat(sample());
    EXPECT_TRUE(lines.contains("\nBenchmark10_torch_jobs/controller=cotrain 100 1 p50_ms")) << lines;
    EXPECT_TRUE(lines.contains("\nBenchmark10_torch_jobs/controller=a_b 100 10 p50_ms")) << lines;
    doc::arena memory;
    const std::string text = to_github_benchmark(sample());
    const auto read = doc::parse_json(memory, text);
    ASSERT_TRUE(read) << text;
    EXPECT_EQ(read->at(0).get("name").as_string(), "cotrain: p50_ms");
    EXPECT_EQ(read->at(0).get("unit").as_string(), "ms");
    EXPECT_EQ(read->at(0).get("value").as_double(), 3.5);
    EXPECT_EQ(read->at(0).get("range").as_string(), "1 to 6");
}

TEST(bench_report, markdown_begins_with_the_verdict) {
    const auto comparison = compare_within(sample(), "cotrain", 0.1);
    ASSERT_TRUE(comparison);
    ASSERT_TRUE(comparison->worse());
    const std::string text = bench_markdown(sample(), *comparison);
    EXPECT_TRUE(text.starts_with("### cotrain bench\n\n**Worse** than cotrain of this run by more than 10 %.")) << text;
    EXPECT_NE(text.find("| patch jobsets |"), std::string::npos);
    const auto fine = compare_within(sample(), "cotrain", 100);
    ASSERT_TRUE(fine);
    EXPECT_NE(bench_markdown(sample(), *fine).find("Nothing is worse"), std::string::npos);
}

TEST(bench_report, the_page_needs_nothing_else_and_trusts_no_name) {
    const std::string page = bench_page(sample(), {});
    EXPECT_EQ(page.find("a<b"), std::string::npos);
    EXPECT_NE(page.find("a&lt;b"), std::string::npos);
    EXPECT_NE(page.find("run &amp; &quot;go&quot;"), std::string::npos);
    EXPECT_EQ(page.find("src="), std::string::npos);
    EXPECT_EQ(page.find("href="), std::string::npos);
    EXPECT_EQ(page.find("<script"), std::string::npos);
}

TEST(bench_plot, puts_points_where_they_belong) {
    const plot what{.title = "t",
                    .x = {.label = "x", .log = true},
                    .y = {.label = "y", .from_zero = true},
                    .series = {{"one", {{1, 0}, {10, 50}, {100, 100}}}}};
    // From 76 to 740 in two decades, from 328 up to 64.
    EXPECT_NE(draw(what).find("d=\"M76.0 328.0L408.0 196.0L740.0 64.0\""), std::string::npos) << draw(what);
    // Nothing to draw is no reason to fail.
    EXPECT_NE(draw({}).find("</svg>"), std::string::npos);
    EXPECT_EQ(draw({.x = {.log = true}, .series = {{"one", {{0, 0}}}}}).find("nan"), std::string::npos);
}

TEST(bench_child, commands_are_filled_with_quoted_paths) {
    EXPECT_EQ(fill_command("x --k={kubeconfig} {dir}/f", "/a b", "/it's"), "x --k='/a b' '/it'\\''s'/f");
}

TEST(bench_child, tells_when_exec_was_called) {
    temporary_directory dir;
    ASSERT_TRUE(dir.make());
    const auto before = std::chrono::steady_clock::now();
    const auto child = bench_child::start(shell_words("exit 3"), "k", dir.path());
    ASSERT_TRUE(child);
    EXPECT_GT((*child)->began(), before);
    EXPECT_LT((*child)->began(), std::chrono::steady_clock::now());
    while ((*child)->alive()) std::this_thread::yield();
    EXPECT_EQ((*child)->ending(), "exit code 3");
}

TEST(bench_child, a_program_that_is_not_there_ends_at_once) {
    temporary_directory dir;
    ASSERT_TRUE(dir.make());
    const auto child = bench_child::start({"/no/such/program"}, "k", dir.path());
    ASSERT_TRUE(child);
    while ((*child)->alive()) std::this_thread::yield();
    EXPECT_EQ((*child)->ending(), "exit code 127");
}

}  // namespace
}  // namespace cotrain::bench
