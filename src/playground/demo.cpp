#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/build_info.hpp"
#include "app/command.hpp"
#include "app/render/manifests.hpp"
#include "app/terminal.hpp"
#include "doc/json.hpp"
#include "doc/tree.hpp"
#include "kube/client.hpp"
#include "playground/box.hpp"
#include "playground/playground.hpp"
#include "playground/status_line.hpp"
#include "playground/texts.hpp"
#include "sim/cluster.hpp"
#include "sim/server.hpp"
#include "sim/store.hpp"

namespace cotrain::playground {

struct timeline_line {
    std::string who;  // the TrainJob, or what stands for the cluster
    std::string what;
};

// Where a TrainJob is, for a status line and for the summary.
struct job_course {
    std::string name;
    std::chrono::steady_clock::time_point created{};
    std::optional<std::chrono::steady_clock::time_point> job_set{};  // was made
    std::optional<std::chrono::steady_clock::time_point> ended{};
    std::int64_t pods_ready = 0;
    std::int64_t pods = 0;
    std::string condition{};  // the last one that became true
};

class timeline {
   public:
    using time = std::chrono::steady_clock::time_point;

    [[nodiscard]] std::vector<timeline_line> tell(const sim::change& what, time now);
    [[nodiscard]] const std::vector<job_course>& jobs() const { return jobs_; }
    [[nodiscard]] bool all_ended() const;

   private:
    job_course* find(std::string_view name);
    void tell_job(const sim::change& what, doc::ref before, doc::ref after, time now);
    void tell_child(const sim::kind& of, doc::ref object, time now);
    void tell_job_set(doc::ref before, doc::ref after);
    void tell_pod(const sim::change& what, doc::ref before, doc::ref after);
    void say(std::string_view who, std::string what);

    std::vector<job_course> jobs_;
    std::vector<timeline_line> lines_;  // of the change at hand
};

// The operator's requests, as the API server saw them.
class demo_traffic {
   public:
    struct row {
        std::uint64_t requests = 0;
        std::uint64_t bytes_in = 0;
        std::chrono::nanoseconds took{};
    };
    void add(const sim::request_note& note);
    [[nodiscard]] const std::map<std::pair<std::string, std::string>, row>& rows() const { return rows_; }

   private:
    std::map<std::pair<std::string, std::string>, row> rows_;  // by verb and resource
};

[[nodiscard]] std::string show_hostfile(const sim::cluster& all);
// Of the pod whose name begins so, as a process in it would see it.
[[nodiscard]] std::string show_environment(const sim::cluster& all, std::string_view pod_prefix);
[[nodiscard]] std::string show_summary(std::span<const job_course> jobs, const demo_traffic& traffic,
                                       const kube::client_statistics& sent, std::chrono::nanoseconds all);

namespace {

std::string_view label(doc::ref object, std::string_view name) {
    return object.get({"metadata", "labels", name}).as_string();
}
constexpr std::string_view job_set_label = "jobset.sigs.k8s.io/jobset-name";

// The TrainJob that owns it; empty if none does.
std::string_view owner_of(doc::ref object) {
    return object.get({"metadata", "ownerReferences"}).find_by("kind", "TrainJob").get("name").as_string();
}

std::string who_made(doc::ref object) {
    const doc::ref first = object.get({"metadata", "managedFields"}).at(0);
    return fmt::format("{} by {}", first.get("operation").as_string() == "Apply" ? "applied" : "written",
                       first.get("manager").as_string());
}

bool is_ready(doc::ref pod) {
    return pod.get({"status", "conditions"}).find_by("type", "Ready").get("status").as_string() == "True";
}

std::string counts(doc::ref job_set) {
    std::string out;
    for (const doc::ref each : job_set.get({"status", "replicatedJobsStatus"}).items()) {
        const auto count = [&](const char* name) { return each.get(name).as_int(0); };
        const char* word = count("failed") > 0      ? "failed"
                           : count("succeeded") > 0 ? "succeeded"
                           : count("ready") > 0     ? "ready"
                           : count("suspended") > 0 ? "suspended"
                           : count("active") > 0    ? "starting"
                                                    : "";
        if (*word != '\0') out += fmt::format("{}{} {}", out.empty() ? "" : ", ", each.get("name").as_string(), word);
    }
    return out;
}

double ms(std::chrono::nanoseconds time) { return std::chrono::duration<double, std::milli>(time).count(); }

std::string indented(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        out.append("    ").append(text.substr(0, end)).append("\n");
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

// metadata.annotations['x'], metadata.name, …
std::string field(doc::ref pod, std::string_view path) {
    const std::size_t quote = path.find('\'');
    if (quote != std::string_view::npos && path.starts_with("metadata.")) {
        const std::string_view key = path.substr(quote + 1, path.rfind('\'') - quote - 1);
        const std::string_view member = path.starts_with("metadata.annotations") ? "annotations" : "labels";
        return std::string(pod.get({"metadata", member, key}).as_string());
    }
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return {};
    return std::string(pod.get({path.substr(0, dot), path.substr(dot + 1)}).as_string());
}

std::string times_of(const job_course& job) {
    std::string out = fmt::format("  {:<40}", job.name);
    if (job.job_set) out += fmt::format("JobSet after {:.1f} ms", ms(*job.job_set - job.created));
    if (job.ended) out += fmt::format(", {} after {:.0f} ms", job.condition, ms(*job.ended - job.created));
    return out + "\n";
}

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
    app::terminal terminal = app::terminal_at(STDOUT_FILENO);
    bool failed = false;
    bool over = false;

    void print(std::string_view who, std::string_view what) {
        const double ms = std::chrono::duration<double, std::milli>(clock::now() - begun).count();
        const std::string_view erase = terminal.live ? "\r\x1b[K" : "";
        const auto line = terminal.colors ? fmt::format("{}\x1b[2m{:>7.0f} ms\x1b[0m  \x1b[1m{:<10}\x1b[0m {}\n", erase,
                                                        ms, who, what)
                                          : fmt::format("{}{:>7.0f} ms  {:<10} {}\n", erase, ms, who, what);
        std::fputs(line.c_str(), stdout);
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
    while (s->terminal.live && !s->over) {
        std::vector<job_progress> jobs;
        for (const job_course& each : s->course.jobs())
            jobs.push_back({each.name, each.pods, each.pods_ready, each.ended ? each.condition : std::string()});
        // Windows change their size.
        const std::size_t columns = app::terminal_at(STDOUT_FILENO).columns;
        std::fputs(("\r\x1b[K" + status_line(jobs, columns)).c_str(), stdout);
        std::fflush(stdout);
        timer.expires_after(redraw_pause);
        if (const auto [error] = co_await timer.async_wait(use_tuple); error) co_return;
    }
}

awaitable<bool> apply_examples(stage* s, kube::client* api) {
    for (const example& each : examples()) {
        app::manifests read;
        if (auto fine = read.add_text(std::string(each.text), std::string(each.name)); !fine) {
            s->fail(fine.error().message);
            co_return false;
        }
        for (const app::manifest& one : read.list()) {
            const std::string_view kind_name = one.document.get("kind").as_string();
            const kube::resource of{"trainer.kubeflow.org", "v1alpha1",
                                    kind_name == "TrainJob" ? "trainjobs" : "trainingruntimes", kind_name};
            const std::string name(one.document.get({"metadata", "name"}).as_string());
            auto done = co_await api->apply(of, {"default", name}, doc::to_json(one.document), false,
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
    if (s->terminal.live) std::fputs("\r\x1b[K", stdout);
    if (!shown) co_return;
    std::fputs(show_hostfile(at->objects()).c_str(), stdout);
    std::fputs(show_environment(at->objects(), "torch-two-node-0-1-").c_str(), stdout);
    std::fputs(show_summary(s->course.jobs(), s->traffic, ours->api().statistics(), clock::now() - s->begun).c_str(),
               stdout);
}

awaitable<void> play(stage* s) {
    const std::string operators_agent = kube::user_agent(app::version());
    box_options options;
    options.on_request = [s, operators_agent](const sim::request_note& note) {
        if (note.user_agent == operators_agent) s->traffic.add(note);
    };
    options.on_change = [s] { s->changed.notify_later(); };
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

void timeline::say(std::string_view who, std::string what) { lines_.push_back({std::string(who), std::move(what)}); }

job_course* timeline::find(std::string_view name) {
    const auto found = std::ranges::find(jobs_, name, &job_course::name);
    return found == jobs_.end() ? nullptr : &*found;
}

bool timeline::all_ended() const {
    return !jobs_.empty() && std::ranges::all_of(jobs_, [](const job_course& each) { return each.ended.has_value(); });
}

std::vector<timeline_line> timeline::tell(const sim::change& what, time now) {
    lines_.clear();
    doc::arena memory;
    const doc::ref before = what.before ? sim::open(memory, *what.before) : doc::ref{};
    const doc::ref after = what.after ? sim::open(memory, *what.after) : doc::ref{};
    const std::string& name = what.of->name;
    if (name == "TrainJob") {
        tell_job(what, before, after, now);
    } else if (name == "Pod") {
        tell_pod(what, before, after);
    } else if (name == "JobSet" && before && after) {
        tell_job_set(before, after);
    } else if ((name == "TrainingRuntime" || name == "ClusterTrainingRuntime") && !before) {
        say(after.get({"metadata", "name"}).as_string(), name + " created");
    } else if (after && !before && !owner_of(after).empty()) {
        tell_child(*what.of, after, now);
    }
    return std::move(lines_);
}

void timeline::tell_job(const sim::change& what, doc::ref before, doc::ref after, time now) {
    if (!after) return say(what.last->name, "TrainJob deleted");
    const std::string_view name = what.after->name;
    if (!before) {
        jobs_.push_back({.name = std::string(name), .created = now});
        return say(name, "TrainJob created");
    }
    job_course* const course = find(name);
    for (const doc::ref each : after.get({"status", "conditions"}).items()) {
        const std::string_view type = each.get("type").as_string();
        const doc::ref old = before.get({"status", "conditions"}).find_by("type", type);
        const std::string_view status = each.get("status").as_string();
        if (old.get("status").as_string() == status) continue;
        say(name, fmt::format("condition {}={}: {}", type, status, each.get("message").as_string()));
        if (course == nullptr || status != "True") continue;
        course->condition = type;
        if (type == "Complete" || type == "Failed") course->ended = now;
    }
}

void timeline::tell_child(const sim::kind& of, doc::ref object, time now) {
    const std::string_view who = owner_of(object);
    say(who, fmt::format("{} {} {}", of.name, object.get({"metadata", "name"}).as_string(), who_made(object)));
    job_course* const course = find(who);
    if (of.name == "JobSet" && course != nullptr) course->job_set = now;
}

void timeline::tell_job_set(doc::ref before, doc::ref after) {
    const std::string now = counts(after);
    if (now.empty() || now == counts(before)) return;
    say(after.get({"metadata", "name"}).as_string(), "JobSet: " + now);
}

void timeline::tell_pod(const sim::change& what, doc::ref before, doc::ref after) {
    const doc::ref any = after ? after : before;
    job_course* const course = find(label(any, job_set_label));
    if (course == nullptr) return;
    if (!before) ++course->pods;
    if (!after) --course->pods;
    course->pods_ready += (after && is_ready(after) ? 1 : 0) - (before && is_ready(before) ? 1 : 0);
    if (after && !before) {
        say(course->name, fmt::format("Pod {} on {}", what.after->name, any.get({"spec", "nodeName"}).as_string()));
    }
}

void demo_traffic::add(const sim::request_note& note) {
    row& of = rows_[{std::string(note.verb), std::string(note.resource)}];
    ++of.requests;
    of.bytes_in += note.bytes_in;
    of.took += note.took;
}

std::string show_hostfile(const sim::cluster& all) {
    const sim::record_ptr map =
        all.objects().find(*all.types().find("", "v1", "configmaps"), "default", "mpi-pi-mpi-hostfile");
    if (!map) return {};
    doc::arena memory;
    return "\nThe hostfile of mpi-pi (ConfigMap mpi-pi-mpi-hostfile):\n" +
           indented(sim::open(memory, *map).get({"data", "hostfile"}).as_string());
}

std::string show_environment(const sim::cluster& all, std::string_view pod_prefix) {
    const sim::kind& pods = *all.types().find("", "v1", "pods");
    const sim::list_wish first{.version = all.objects().version(),
                               .items_max = 1,
                               .takes = [&](const sim::record& each) { return each.name.starts_with(pod_prefix); }};
    const auto found = all.objects().list(pods, first);
    if (found.empty()) return {};
    doc::arena memory;
    const doc::ref pod = sim::open(memory, *found[0]);
    std::string lines;
    for (const doc::ref each : pod.get({"spec", "containers"}).find_by("name", "node").get("env").items()) {
        const std::string_view path = each.get({"valueFrom", "fieldRef", "fieldPath"}).as_string();
        lines += fmt::format("{}={}\n", each.get("name").as_string(),
                             path.empty() ? std::string(each.get("value").as_string()) : field(pod, path));
    }
    return fmt::format("\nWhat the container node of Pod {} sees:\n{}", found[0]->name, indented(lines));
}

std::string show_summary(std::span<const job_course> jobs, const demo_traffic& traffic,
                         const kube::client_statistics& sent, std::chrono::nanoseconds all) {
    std::string out = "\nWhat it took:\n";
    for (const job_course& each : jobs) out += times_of(each);
    std::uint64_t reads = 0;
    for (const auto& [name, row] : traffic.rows()) {
        if (name.first != "patch" && name.first != "create" && name.first != "update" && name.first != "delete") {
            reads += row.requests;
            continue;
        }
        out += fmt::format("  {:<40}{} requests, {} bytes, {:.1f} ms in the server\n", name.first + " " + name.second,
                           row.requests, row.bytes_in, ms(row.took));
    }
    out += fmt::format("  {:<40}{} requests\n", "get, list, watch", reads);
    out += fmt::format("  {:<40}{} connections, {} bytes out, {} bytes in\n", "the operator's wire", sent.wire.connects,
                       sent.wire.bytes_out, sent.wire.bytes_in);
    return out + fmt::format("  {:<40}{:.1f} s; the Pods were played, everything else was real\n", "all of it",
                             ms(all) / 1000);
}

int run_demo(app::arguments words) {
    for (const std::string_view word : words) {
        if (word != "--help" && word != "-h")
            return app::used_wrongly(fmt::format("demo: takes no options, got '{}'", word));
        std::fputs(std::string(usage).c_str(), stdout);
        return 0;
    }
    stage s;
    asio::co_spawn(s.loop, play(&s), asio::detached);
    s.loop.run();
    return s.failed || !s.course.all_ended() ? 1 : 0;
}

}  // namespace cotrain::playground
