// The rules of a TrainJob as a table: what the stores show and what the run has done so far, and what is next.
#include "reconcile/trainjob/decide.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "api/workload.hpp"
#include "trainjob_case.hpp"

namespace cotrain::reconcile {
namespace {

constexpr auto completed = R"({"status":{"conditions":[{"type":"Completed","status":"True","reason":"R","message":"m",
    "lastTransitionTime":"2026-01-01T01:00:00Z"}]}})";
constexpr auto ended_job = R"({"status":{"conditions":[{"type":"Complete","status":"True","reason":"R","message":"m",
    "lastTransitionTime":"2026-01-01T01:00:00Z"}]}})";
constexpr auto late_job = R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"DeadlineExceeded",
    "message":"m","lastTransitionTime":"2026-01-01T01:00:00Z"}]}})";

// A cluster in which the job `job` has been reconciled, and a run that begins now.
struct stage_set {
    trainjob_world w;
    job_history known;
    circumstances c;
    missing_rights groups;
    missing_rights jobs;
    std::unique_ptr<progress> p;

    explicit stage_set(std::string_view runtime, std::string_view more = "", bool reconciled = true) {
        w.apply_yaml(runtime);
        w.apply_yaml(train_job(more));
        reconciled ? w.settle() : w.deliver();
        w.follows = true;
        c = {.wall = w.now, .steady = moment(w.now.time_since_epoch()), .group_rights = &groups, .job_rights = &jobs};
    }
    job_view view() { return view_of(*w.known, w.reconciler->children(), w.texts.find("ns/job")); }
    // All Pods are there, and the status says so.
    void runs() {
        w.patch("JobSet ns/job", R"({"status":{"replicatedJobsStatus":[{"name":"node","ready":1,"active":1}]}})");
        w.settle();
        known.settled = digest_of(view());
        known.told = told_digest(view());
    }
    void begin() {
        known.job = view().job->id;
        p = std::make_unique<progress>(view(), known);
        p->next.wants_children = true;
        if (view().set != nullptr) p->set = job_set_of(p->memory, *w.known, {view().set, view().set_body});
    }
    // As the live runtime has it.
    void knows_runtime() {
        runtime_cache cache(*w.known);
        api::train_job of;
        of.meta.ns = "ns";
        of.spec.runtime = {"rt", api::names::trainer_group, "TrainingRuntime"};
        p->runtime = *cache.live(of);
        const auto* const map = view().snapshot().record;
        p->runtime_version = map == nullptr ? 0 : map->version;
    }
    void planned(const char* name, watch::kind of) {
        knows_runtime();
        if (!p->steps) p->steps.emplace();
        const auto is_it = [&](const child_type& c) {
            return c.of == of && std::string_view(name) == "job" + std::string(c.suffix);
        };
        const auto& types = w.reconciler->children();
        const auto type = std::ranges::find_if(types, is_it);
        p->steps->push_back({.object = {.name = name},
                             .type = type == types.end() ? nullptr : &*type,
                             .of = of,
                             .name = watch::hash_bytes(name),
                             .digest = 7});
        p->planned_for = planning_state(view(), p->runtime);
    }
    void refused_remade() {
        static const child_type remade{{.type = &api::names::pod_group, .suffix = "-group-0", .remade = true},
                                       watch::kind::pod_group};
        planned("job-group-0", watch::kind::pod_group);
        p->steps->back().type = &remade;
        p->refused = {.why = base::make_error(base::errc::status, base::retry::never, "immutable")};
        p->refused->why.http_status = 422;
    }
    action next() { return decide(view(), &known, p.get(), c); }
};

struct row {
    const char* name;
    std::string_view runtime;
    std::string_view more;
    bool reconciled;
    void (*set_up)(stage_set& s);
    act wanted;
    std::size_t index = 0;
};
std::ostream& operator<<(std::ostream& out, const row& r) { return out << r.name; }

base::error refusal(int status, const char* message) {
    base::error e = base::make_error(base::errc::status, message);
    e.http_status = status;
    return e;
}

// Places among the children of the built-in plugins.
constexpr std::size_t ssh_secret = 1;
constexpr std::size_t coscheduling_group = 6;
constexpr std::size_t the_job_set = 8;

const row rows[] = {
    // Before a run.
    {"another replica leads", torch_runtime, "", true, [](stage_set& s) { s.begin(), s.p->canceled = true; },
     act::done},
    {"the job is managed externally", torch_runtime, "  managedBy: kueue.x-k8s.io/multikueue\n", true,
     [](stage_set&) {}, act::done},
    {"nothing is known of it", torch_runtime, "", true, [](stage_set&) {}, act::begin},
    {"nothing is left to do", torch_runtime, "", true,
     [](stage_set& s) {
         s.known = {.job = s.view().job->id, .settled = digest_of(s.view())};
         s.runs();
     },
     act::done},
    {"its pods may still come", torch_runtime, "", true,
     [](stage_set& s) {
         s.known = {.job = s.view().job->id, .settled = digest_of(s.view()), .told = told_digest(s.view())};
     },
     act::requeue},
    {"its pods do not come", torch_runtime, "", true,
     [](stage_set& s) {
         s.known = {.job = s.view().job->id, .settled = digest_of(s.view()), .told = told_digest(s.view())};
         s.c.wall += look_after;
     },
     act::begin},
    {"a deadline is ahead", torch_runtime, "  activeDeadlineSeconds: 60\n", true,
     [](stage_set& s) {
         s.known = {.job = s.view().job->id, .settled = digest_of(s.view()), .told = told_digest(s.view())};
     },
     act::requeue},
    {"a deadline has passed", torch_runtime, "  activeDeadlineSeconds: 60\n", true,
     [](stage_set& s) {
         s.known = {.job = s.view().job->id, .settled = digest_of(s.view()), .told = told_digest(s.view())};
         s.c.wall += std::chrono::seconds(61);
     },
     act::begin},
    {"counts changed", torch_runtime, "", true,
     [](stage_set& s) {
         s.known = {.job = s.view().job->id, .settled = digest_of(s.view()), .told = told_digest(s.view())};
         s.w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})");
         s.w.deliver();
     },
     act::begin},
    // Others were faster.
    {"an answer says that the view is behind", torch_runtime, "", true,
     [](stage_set& s) { s.begin(), s.p->overtaken = true; }, act::restart},
    {"the spec changed", torch_runtime, "", true,
     [](stage_set& s) {
         s.begin();
         s.w.patch(job, R"({"spec":{"suspend":true}})");
         s.w.deliver();
     },
     act::restart},
    {"the JobSet went", torch_runtime, "", true,
     [](stage_set& s) {
         s.begin();
         s.w.erase(set);
         s.w.deliver();
     },
     act::restart},
    {"the API server says that the job is gone", torch_runtime, "", true,
     [](stage_set& s) { s.begin(), s.p->asked = {.exists = false}; }, act::done},
    {"the spec is too large", torch_runtime, "", true, [](stage_set& s) { s.begin(), s.p->lacks_spec = true; },
     act::read_job},
    {"as are others'", torch_runtime, "", true,
     [](stage_set& s) { s.begin(), s.p->lacks_spec = true, s.c.large_runs_full = true; }, act::requeue},
    // Children.
    {"a new job", torch_runtime, "", false, [](stage_set& s) { s.begin(); }, act::find_runtime},
    {"one that lost its JobSet", torch_runtime, "", false, [](stage_set& s) { s.begin(), s.p->had_children = true; },
     act::read_job},
    {"one in deletion", torch_runtime, "", true,
     [](stage_set& s) {
         s.w.patch(job, R"({"metadata":{"deletionTimestamp":"2026-01-01T00:00:00Z"}})");
         s.w.deliver();
         s.begin();
     },
     act::read_job},
    {"the garbage collector takes its children", torch_runtime, "", false,
     [](stage_set& s) { s.begin(), s.p->asked = {.collected = true}; }, act::patch_status},
    {"the runtime is known", torch_runtime, "", false, [](stage_set& s) { s.begin(), s.knows_runtime(); }, act::plan},
    {"the snapshot is another now", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) { s.begin(), s.knows_runtime(), --s.p->runtime_version; }, act::find_runtime},
    {"a suspended job is resumed", mpi_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.w.patch(job, R"({"spec":{"suspend":false}})");
         s.w.deliver();
         s.begin();
         s.knows_runtime();
     },
     act::read_secret, ssh_secret},
    {"which was asked for", mpi_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.w.patch(job, R"({"spec":{"suspend":false}})");
         s.w.deliver();
         s.begin();
         s.knows_runtime();
         s.p->secrets_asked.set(ssh_secret);
     },
     act::plan},
    {"a plan for another JobSet", mpi_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.p->planned_for = 1;
     },
     act::plan},
    {"one that is to be made again", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.known.dirty = true;
     },
     act::plan},
    {"a child that is not as planned", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
     },
     act::apply, 0},
    {"the second one is not", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.p->steps->front().good = s.view().set_body->spec_print;
         s.planned("job-runtime-snapshot", watch::kind::config_map);
     },
     act::apply, 1},
    {"all are as planned", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.p->steps->front().good = s.view().set_body->spec_print;
     },
     act::patch_status},
    {"somebody undid it too often", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.known.at(watch::kind::job_set, watch::hash_bytes("job")).sent = 7;
         for (unsigned i = 0; i < repairs_at_once; ++i) s.known.make_rare().repaired(s.c.steady);
     },
     act::patch_status},
    {"a child that is missing may have gone", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.p->had_children = true;
         s.planned("job-other", watch::kind::config_map);
     },
     act::read_job},
    // Refusals.
    {"another object is in the way", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.p->refused = {.why = refusal(409, "conflict")};
     },
     act::identify},
    {"another controller's JobSet", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.p->refused = {.why = refusal(422, "immutable")};
     },
     act::keep_templates},
    {"ours is suspended", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.known.made_here = true;
         s.p->refused = {.why = refusal(422, "immutable")};
     },
     act::compare_templates},
    {"and has other templates", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.known.made_here = true;
         s.p->refused = {.why = refusal(422, "immutable"), .templates_differ = true};
     },
     act::replace_child},
    {"its Pods are there", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.w.patch(set, R"({"status":{"replicatedJobsStatus":[{"name":"node","active":1}]}})");
         s.w.deliver();
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.known.made_here = true;
         s.p->refused = {.why = refusal(422, "immutable")};
     },
     act::wait_for_pods},
    {"ours runs, and is to run", torch_runtime, "", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job", watch::kind::job_set);
         s.known.made_here = true;
         s.p->refused = {.why = refusal(422, "immutable")};
     },
     act::fail_child},
    {"a child that stays as it was made", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) { s.begin(), s.refused_remade(); }, act::replace_child},
    {"Pods may be of it", torch_runtime, "", true, [](stage_set& s) { s.begin(), s.refused_remade(); },
     act::wait_for_pods},
    {"it goes before any other child is made", torch_runtime, "  suspend: true\n", true,
     [](stage_set& s) {
         s.begin();
         s.planned("job-other", watch::kind::config_map);
         s.p->remaking = true;
     },
     act::patch_status},
    // What is said, and what follows.
    {"a failure", torch_runtime, "", true, [](stage_set& s) { s.begin(), s.p->failure = refusal(422, "Invalid"); },
     act::report},
    {"a failure that was reported", torch_runtime, "", true,
     [](stage_set& s) { s.begin(), s.p->failure = refusal(422, "Invalid"), s.p->reported = true; }, act::patch_status},
    {"its pods do not come in time", torch_runtime, "", true,
     [](stage_set& s) { s.c.wall += look_after, s.begin(), s.p->clean = true; }, act::look},
    {"its pods do not come, and it was looked into", torch_runtime, "", true,
     [](stage_set& s) { s.c.wall += look_after, s.begin(), s.p->clean = s.p->looked = true; }, act::patch_status},
    {"its job set failed", torch_runtime, "", true,
     [](stage_set& s) {
         s.w.patch(set, R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"R","message":"m"}]}})");
         s.w.deliver();
         s.begin();
         s.p->clean = true;
     },
     act::autopsy},
    {"its job set failed, and its pods were asked for", torch_runtime, "", true,
     [](stage_set& s) {
         s.w.patch(set, R"({"status":{"conditions":[{"type":"Failed","status":"True","reason":"R","message":"m"}]}})");
         s.w.deliver();
         s.begin();
         s.p->clean = s.p->dissected = true;
     },
     act::patch_status},
    {"an autopsy had to wait", torch_runtime, "", true,
     [](stage_set& s) {
         s.begin();
         s.p->clean = true;
         s.p->notes().autopsy = taken_turn{.turn = 0, .ask = s.c.steady};
     },
     act::autopsy},
    {"the status is written", torch_runtime, "", true,
     [](stage_set& s) { s.begin(), s.p->next.wants_children = false, s.p->status_done = true; }, act::settle},
    {"an end", mpi_runtime, "", true,
     [](stage_set& s) {
         s.w.patch(job, ended_job);
         s.w.deliver();
         s.begin();
         s.p->next = {.finished = true};
         s.p->status_done = true;
     },
     act::delete_child, coscheduling_group},
    {"an end at the deadline", torch_runtime, "", true,
     [](stage_set& s) {
         s.w.patch(job, late_job);
         s.w.deliver();
         s.begin();
         s.p->next = {.finished = true};
         s.p->status_done = true;
     },
     act::delete_child, the_job_set},
    {"the time to live is over", torch_runtime, "  ttlSecondsAfterFinished: 0\n", true,
     [](stage_set& s) {
         s.w.patch(set, completed);
         s.w.patch(job, ended_job);
         s.w.deliver();
         s.c.ttl = true;
         s.c.wall += std::chrono::hours(2);
         s.begin();
         s.p->next = {.finished = true};
         s.p->status_done = true;
     },
     act::read_job},
    {"and was not prolonged", torch_runtime, "  ttlSecondsAfterFinished: 0\n", true,
     [](stage_set& s) {
         s.w.patch(set, completed);
         s.w.patch(job, ended_job);
         s.w.deliver();
         s.c.ttl = true;
         s.c.wall += std::chrono::hours(2);
         s.begin();
         s.p->next = {.finished = true};
         s.p->status_done = true;
         s.p->asked = {};
         s.p->asked.emplace();
     },
     act::delete_job},
};

struct trainjob_decide : testing::TestWithParam<row> {};

TEST_P(trainjob_decide, what_is_next) {
    const row& r = GetParam();
    stage_set s(r.runtime, r.more, r.reconciled);
    r.set_up(s);
    const action next = s.next();
    EXPECT_EQ(static_cast<int>(next.what), static_cast<int>(r.wanted));
    EXPECT_EQ(next.index, r.index);
}

INSTANTIATE_TEST_SUITE_P(rules, trainjob_decide, testing::ValuesIn(rows));

TEST(trainjob_decide_gone, a_job_that_left_the_store_is_forgotten) {
    stage_set s(torch_runtime);
    s.begin();
    s.w.erase(job);
    s.w.deliver();
    EXPECT_EQ(s.next().what, act::forget);
    EXPECT_EQ(decide(s.view(), nullptr, nullptr, s.c).what, act::forget);
}

// Kinds that do not exist in a cluster, JobSets that are not ours, files of others: none is asked about twice.
TEST(trainjob_decide_twice, the_same_view_and_progress_give_the_same_action) {
    for (const row& r : rows) {
        stage_set s(r.runtime, r.more, r.reconciled);
        r.set_up(s);
        EXPECT_EQ(s.next(), s.next()) << r.name;
    }
}

}  // namespace
}  // namespace cotrain::reconcile
