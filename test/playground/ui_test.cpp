// The page of `cotrain ui` on the embedded API server with our operator: what it shows of jobs, and that it only reads.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>

#include "playground/box_scene.hpp"
#include "ui/watching.hpp"

namespace cotrain::test {
namespace {

using namespace std::chrono_literals;

std::set<std::string> verbs;  // "verb resource" of the page's own requests

playground::box_options noted(playground::box_options out = {}) {
    verbs.clear();
    out.on_request = [](const sim::request_note& note) {
        if (note.user_agent.starts_with(ui::agent))
            verbs.insert(std::string(note.verb) + " " + std::string(note.resource));
    };
    return out;
}

struct page_scene {
    page_scene(box_scene& of, std::string ns)
        : in(of),
          api(*ui::make_client(of.loop, of.at.config(), base::null_logger())),
          page(of.loop, *api, "here", std::move(ns), {}, {}, base::null_logger()) {}

    awaitable<bool> until(std::function<bool()> so) {
        asio::steady_timer timer(in.loop);
        const auto end = std::chrono::steady_clock::now() + 20s;
        while (!so() && std::chrono::steady_clock::now() < end) {
            timer.expires_after(5ms);
            co_await timer.async_wait(use_tuple);
        }
        co_return so();
    }
    [[nodiscard]] std::size_t in_state(std::string_view state) const {
        const auto states = page.rows().sum_up(0).states;
        for (const ui::state_count& each : states)
            if (each.state == state) return each.count;
        return 0;
    }
    awaitable<void> stop() {
        co_await page.stop();
        co_await api->stop();
    }

    box_scene& in;
    std::unique_ptr<kube::client> api;
    ui::watching page;
};

awaitable<void> follow_jobs(box_scene& s) {
    page_scene it(s, "");
    const auto up = it.page.start();
    EXPECT_TRUE(up) << up.error().message;
    EXPECT_TRUE(co_await s.ours.ready());
    EXPECT_TRUE(s.make_jobs(20));
    EXPECT_TRUE(co_await it.until([&] { return it.in_state("Complete") == 20; })) << it.page.rows().jobs();
    // What was seen live is measured, and what one job consists of is read.
    for (const ui::job_row* const each : it.page.rows().since(0, 100).rows) {
        EXPECT_GE(each->setMs, 0) << each->name;
        EXPECT_EQ(each->nodes, 2);
        EXPECT_EQ(each->runtime, "torch");
    }
    ui::reader reads(*it.api);
    for (const auto what : {&ui::reader::details, &ui::reader::pods, &ui::reader::events, &ui::reader::children}) {
        const auto read = co_await (reads.*what)({"default", "job-3"});
        EXPECT_TRUE(read) << read.error().message;
        if (read) EXPECT_TRUE(read->contains("job-3")) << *read;
    }
    const auto yaml = co_await reads.object("jobset", {"default", "job-3"});
    EXPECT_TRUE(yaml && yaml->contains("kind: JobSet") && !yaml->contains("managedFields"));
    const auto none = co_await reads.details({"default", "no-such-job"});
    EXPECT_EQ(none.error().http_status, 404);
    co_await it.stop();
}

TEST(box_ui, shows_jobs_to_their_end_and_sends_nothing_but_reads) {
    box_scene(noted()).play(follow_jobs);
    EXPECT_TRUE(verbs.contains("watch trainjobs") && verbs.contains("watch jobsets"));
    for (const std::string& each : verbs) {
        EXPECT_TRUE(each.starts_with("get ") || each.starts_with("list ") || each.starts_with("watch ")) << each;
        EXPECT_FALSE(each.ends_with(" secrets")) << each;
    }
    EXPECT_FALSE(verbs.contains("watch pods") || verbs.contains("watch events")) << "these are read on demand";
}

awaitable<void> follow_through_trouble(box_scene& s) {
    page_scene it(s, "default");
    EXPECT_TRUE(it.page.start());
    EXPECT_TRUE(co_await s.ours.ready());
    EXPECT_TRUE(s.make_jobs(10));
    EXPECT_TRUE(co_await s.until_complete(10));
    EXPECT_TRUE(co_await it.until([&] { return it.in_state("Complete") == 10; })) << it.page.rows().jobs();
    co_await it.stop();
}

TEST(box_ui, ends_with_what_is_there_whatever_happens_to_its_requests) {
    for (const char* faults : {"every 3 watch trainjobs expire",
                               "first 2 list trainjobs status 429 retry-after 1; first 3 watch trainjobs drop",
                               "10% * * goaway; 30% watch * duplicate"}) {
        playground::box_options options = noted();
        options.faults = *sim::read_faults(faults);
        SCOPED_TRACE(faults);
        box_scene(std::move(options)).play(follow_through_trouble);
    }
}

awaitable<void> follow_deletions(box_scene& s) {
    page_scene it(s, "");
    EXPECT_TRUE(it.page.start());
    EXPECT_TRUE(s.make_jobs(3));
    EXPECT_TRUE(co_await it.until([&] { return it.page.rows().jobs() == 3; }));
    EXPECT_TRUE(co_await s.ours.ready());
    const auto gone = co_await s.ours.api().remove({"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"},
                                                   {"default", "job-1"});
    EXPECT_TRUE(gone) << gone.error().message;
    EXPECT_TRUE(co_await it.until([&] { return it.page.rows().jobs() == 2; }));
    // Nothing there has that name.
    for (const ui::job_row* const each : it.page.rows().since(0, 100).rows) EXPECT_NE(each->name, "job-1");
    co_await it.stop();
}

TEST(box_ui, forgets_what_was_deleted) { box_scene(noted()).play(follow_deletions); }

awaitable<void> ask_twice(box_scene& s) {
    const kube::resource runtime_class{"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false};
    const auto api = *ui::make_client(s.loop, s.at.config(), base::null_logger());
    const auto spared = co_await api->get(runtime_class, {.name = "none"});
    const auto struck = co_await s.ours.api().get(runtime_class, {.name = "none"});
    EXPECT_EQ(spared.error().http_status, 404);
    EXPECT_EQ(struck.error().http_status, 403);
    co_await api->stop();
}

TEST(box_ui, faults_can_spare_a_user_agent) {
    playground::box_options options = noted();
    options.faults = *sim::read_faults("always get runtimeclasses status 403");
    options.spared_agent = std::string(ui::agent);
    box_scene(std::move(options)).play(ask_twice);
}

}  // namespace
}  // namespace cotrain::test
