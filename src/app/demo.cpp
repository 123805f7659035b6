// `cotrain demo`: API server, operator and two TrainJobs in one process, from apply to Complete.
#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <string>

#include "api/json.hpp"
#include "app/box_operator.hpp"
#include "app/command.hpp"
#include "app/demo_report.hpp"
#include "app/example_texts.hpp"
#include "app/manifests.hpp"
#include "app/timeline.hpp"

namespace cotrain::app {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

constexpr auto patience = 30s;
constexpr auto redraw_pause = 50ms;
constexpr std::string_view usage =
    "usage: cotrain demo [--help]\n\n"
    "Runs an API server and the operator in this process, applies a Torch and an MPI TrainJob, and shows what\n"
    "happens to them until both are Complete. Nothing outside of this process is touched.\n";

// What all parts of the demo share.
struct stage {
    asio::io_context loop{1};
    clock::time_point begun = clock::now();
    timeline course;
    demo_traffic traffic;
    base::signal changed;
    std::uint64_t seen = 0;
    bool terminal = ::isatty(STDOUT_FILENO) == 1;
    bool failed = false;
    bool over = false;

    void print(std::string_view who, std::string_view what) {
        const double ms = std::chrono::duration<double, std::milli>(clock::now() - begun).count();
        if (terminal) {
            std::fputs(
                fmt::format("\r\x1b[K\x1b[2m{:>7.0f} ms\x1b[0m  \x1b[1m{:<10}\x1b[0m {}\n", ms, who, what).c_str(),
                stdout);
        } else {
            std::fputs(fmt::format("{:>7.0f} ms  {:<10} {}\n", ms, who, what).c_str(), stdout);
        }
        std::fflush(stdout);
    }
    void fail(std::string_view why) {
        failed = true;
        std::fputs(fmt::format("cotrain demo: {}\n", why).c_str(), stderr);
    }
};

void tell_changes(stage* s, box& at) {
    while (const sim::change* const next = at.objects().objects().next(s->seen)) {
        s->seen = next->version;
        for (const timeline_line& line : s->course.tell(*next, clock::now())) s->print(line.who, line.what);
    }
}

// Prints what happens as it happens, until both jobs have ended.
awaitable<void> follow(stage* s, box* at) {
    while (!s->over) {
        tell_changes(s, *at);
        if (!co_await s->changed.wait()) co_return;
    }
}

awaitable<void> redraw(stage* s) {
    asio::steady_timer timer(s->loop);
    while (s->terminal && !s->over) {
        std::fputs(("\r\x1b[K" + status_line(s->course.jobs())).c_str(), stdout);
        std::fflush(stdout);
        timer.expires_after(redraw_pause);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return;
    }
}

awaitable<bool> apply_examples(stage* s, kube::client* api) {
    for (const example& each : examples()) {
        manifests read;
        if (auto fine = read.add_text(std::string(each.text), std::string(each.name)); !fine) {
            s->fail(fine.error().message);
            co_return false;
        }
        for (const manifest& one : read.list()) {
            const std::string_view kind_name = one.document.get("kind").as_string();
            const kube::resource of{"trainer.kubeflow.org", "v1alpha1",
                                    kind_name == "TrainJob" ? "trainjobs" : "trainingruntimes", kind_name};
            const std::string name(one.document.get({"metadata", "name"}).as_string());
            auto done = co_await api->apply(of, {"default", name}, api::to_json(one.document), false,
                                            {.field_manager = "demo"});
            if (done) continue;
            s->fail(done.error().message);
            co_return false;
        }
    }
    co_return true;
}

awaitable<bool> until_complete(stage* s, box_operator* ours) {
    asio::steady_timer timer(s->loop);
    const auto until = clock::now() + patience;
    while (!s->course.all_ended() && !ours->over() && clock::now() < until) {
        timer.expires_after(5ms);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return false;
    }
    if (!s->course.all_ended() && !ours->over()) s->fail("the TrainJobs are not Complete after 30 s");
    co_return s->course.all_ended();
}

awaitable<void> perform(stage* s, box* at, box_operator* ours, kube::client* user) {
    if (!co_await ours->ready()) {
        if (!ours->over()) s->fail("the operator is not ready after 20 s");
        co_return;
    }
    s->print("cluster", fmt::format("{}: API server with our CRDs, and the operator's webhooks", at->url()));
    s->seen = at->objects().objects().version();
    base::task_group watching(s->loop.get_executor());
    watching.spawn("timeline", follow(s, at));
    watching.spawn("status line", redraw(s));
    bool shown = co_await apply_examples(s, user) && co_await until_complete(s, ours);
    s->over = true;
    watching.cancel();
    co_await watching.join();
    if (s->terminal) std::fputs("\r\x1b[K", stdout);
    if (!shown) co_return;
    std::fputs(show_hostfile(at->objects()).c_str(), stdout);
    std::fputs(show_environment(at->objects(), "torch-two-node-0-1-").c_str(), stdout);
    std::fputs(show_summary(s->course.jobs(), s->traffic, ours->api().statistics(), clock::now() - s->begun).c_str(),
               stdout);
}

awaitable<void> play(stage* s) {
    const std::string operators_agent = kube::user_agent(COTRAIN_VERSION);
    box_options options;
    options.told = [s, operators_agent](const sim::request_note& note) {
        if (note.user_agent == operators_agent) s->traffic.add(note);
    };
    options.changed = [s] { s->changed.notify_later(); };
    box at(s->loop, std::move(options), base::null_logger());
    auto up = at.start();
    box_operator ours(s->loop, at, base::null_logger());
    if (up) up = ours.start();
    auto user = up ? kube::client::make(s->loop.get_executor(), at.config(), {.user_agent = "cotrain-demo"},
                                        base::null_logger())
                   : base::fail(up.error());
    if (user) {
        co_await perform(s, &at, &ours, user->get());
        co_await (*user)->stop();
        co_await ours.stop();
    } else {
        s->fail(user.error().message);
    }
    co_await at.stop();
}

}  // namespace

int run_demo(arguments words) {
    for (const std::string_view word : words) {
        if (word != "--help" && word != "-h")
            return used_wrongly(fmt::format("demo: takes no options, got '{}'", word));
        std::fputs(std::string(usage).c_str(), stdout);
        return 0;
    }
    stage s;
    asio::co_spawn(s.loop, play(&s), asio::detached);
    s.loop.run();
    return s.failed || !s.course.all_ended() ? 1 : 0;
}

}  // namespace cotrain::app
