// JobSets as the reference recorded them, and ones that differ in their Pods: where ours suspends and resumes them, and
// they keep their templates, everything else is about the Pods that there are (difference 32).
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "support/golden/golden_case.hpp"
#include "trainjob_world.hpp"

namespace cotrain::reconcile {
namespace {

using doc::editor;
using doc::ref;

struct stored_set {
    std::string where;
    std::string name;
    ref job;
    ref runtime;
    ref set;
    ref children;  // all recorded objects
};

// Texts of several lines are lists in the recordings.
std::string text_of(ref recorded) {
    std::string out;
    for (const ref line : recorded.get("<lines>").items()) out.append(out.empty() ? "" : "\n").append(line.as_string());
    return out;
}

class recordings {
   public:
    recordings() {
        for (const std::string& name : golden::all_cases()) {
            kept_.push_back(std::make_unique<golden::recorded_case>(name));
            golden::recorded_case& c = *kept_.back();
            for (const auto& step : c.recording.members()) {
                for (const auto& m : step.value.members()) {
                    if (m.key().starts_with("JobSet:") && m.value.get("spec")) add(c, std::string(m.key()), step.value);
                }
            }
        }
    }
    std::vector<stored_set> all;

   private:
    void add(golden::recorded_case& c, const std::string& key, ref objects) {
        stored_set found{.where = c.name + " " + key, .name = key.substr(key.find(':') + 1)};
        found.set = objects.get(key);
        found.children = objects;
        for (const ref step : c.steps.items()) {
            for (const ref document : step.get("apply").items()) {
                if (document.get("kind").as_string() == "TrainJob" &&
                    document.get({"metadata", "name"}).as_string() == found.name)
                    found.job = document;
            }
        }
        found.runtime = objects.get("ConfigMap:" + found.name + "-runtime-snapshot").get({"data", "runtime"});
        const ref owner = found.set.get({"metadata", "ownerReferences"}).at(0);
        const bool of_job = owner.get("uid").as_string() == "<uid of TrainJob " + found.name + ">";
        if (found.job && found.runtime.is_object() && of_job) all.push_back(std::move(found));
    }
    std::vector<std::unique_ptr<golden::recorded_case>> kept_;
};

constexpr auto uid = "11111111-0000-4000-8000-000000000001";

// Other numbers of Pods than a plan of ours would give it: another version, or another controller, counts otherwise.
void alter(editor spec, base::random_source& random) {
    editor jobs = spec.child("replicatedJobs");
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        const auto pods = static_cast<std::int64_t>(1 + random.next() % 4);
        jobs.child(i).set("replicas", static_cast<std::int64_t>(1 + random.next() % 2));
        jobs.child(i).ensure_object({"template", "spec"}).set("parallelism", pods).set("completions", pods);
    }
    if (random.next() % 2 == 0) spec.ensure_object("network").set("subdomain", "elsewhere");
}

struct story {
    trainjob_world w;
    doc::arena memory;
    std::string name;
    ref spec;     // of the JobSet, as it was made
    ref runtime;  // likewise

    story(const stored_set& from, unsigned seed) : name(from.name) {
        w.keeps_templates = true;
        editor job = begin(from.job, "trainer.kubeflow.org/v1alpha1", "TrainJob", name);
        job.ensure_object("metadata").set("uid", uid);
        job.ensure_object("spec").set("suspend", false);
        editor set = begin(from.set, "jobset.x-k8s.io/v1alpha2", "JobSet", name);
        base::random_source random(seed);
        if (seed != 0) alter(set.ensure_object("spec"), random);
        set.ensure_object("spec").set("suspend", false);
        spec = doc::deep_copy(memory, set.get("spec"));
        runtime = from.runtime;
        put(job);
        put(set);
        put_files(from);
        w.settle();
        w.restart();
    }
    editor begin(ref from, const char* version, const char* kind, const std::string& called) {
        std::string text = doc::to_json(from);
        golden::replace_all(text, "$NS", "ns");
        golden::replace_all(text, "<uid of TrainJob " + name + ">", uid);
        editor out = editor::of(memory, doc::parse_json_copy(memory, text).value());
        out.remove("ownedByTrainer");
        out.set("apiVersion", version).set("kind", kind);
        out.ensure_object("metadata").set("name", called).set("namespace", "ns");
        return out;
    }
    void put_files(const stored_set& from) {
        editor snapshot = begin(from.children.get("ConfigMap:" + name + "-runtime-snapshot"), "v1", "ConfigMap",
                                name + "-runtime-snapshot");
        snapshot.ensure_object("data").set("runtime", doc::to_json(snapshot.get({"data", "runtime"})));
        put(snapshot);
        if (const ref hosts = from.children.get("ConfigMap:" + name + "-mpi-hostfile")) {
            editor map = begin(hosts, "v1", "ConfigMap", name + "-mpi-hostfile");
            map.ensure_object("data").set("hostfile", text_of(hosts.get({"data", "hostfile"})));
            put(map);
        }
        for (const std::string group : {"scheduling.x-k8s.io", "scheduling.volcano.sh"}) {
            const ref found = from.children.get("PodGroup." + group + ":" + name);
            const std::string version = group + (group.ends_with("sh") ? "/v1beta1" : "/v1alpha1");
            if (found) put(begin(found, version.c_str(), "PodGroup", name));
        }
    }
    void put(editor document) { w.apply_yaml(doc::to_json(document)); }
    void suspend(bool on) {
        w.patch("TrainJob ns/" + name, std::string(R"({"spec":{"suspend":)") + (on ? "true}}" : "false}}"));
        w.settle();
        if (w.last.kind != outcome::what::again_after) return;
        static_cast<void>(w.run_job("ns/" + name));
        w.settle();
    }
};

std::int64_t number(ref value) { return value.as_int().value_or(1); }

std::int64_t pods_of(ref job) {
    return number(job.get("replicas")) * number(job.get({"template", "spec", "parallelism"}));
}

std::set<std::string> host_names(const story& s) {
    std::set<std::string> out;
    const bool launcher = s.runtime.get({"spec", "mlPolicy", "mpi", "runLauncherAsNode"}).as_bool(false);
    const std::string domain(s.spec.get({"network", "subdomain"}).as_string(s.name));
    for (const ref job : s.spec.get("replicatedJobs").items()) {
        const std::string called(job.get("name").as_string());
        if (called != "node" && (called != "launcher" || !launcher)) continue;
        for (int r = 0; r < number(job.get("replicas")); ++r)
            for (int p = 0; p < number(job.get({"template", "spec", "parallelism"})); ++p)
                out.insert(s.name + "-" + called + "-" + std::to_string(r) + "-" + std::to_string(p) + "." + domain);
    }
    return out;
}

std::set<std::string> listed_hosts(std::string_view hostfile) {
    std::set<std::string> out;
    std::size_t lines = 0;
    while (!hostfile.empty()) {
        const std::string_view line = hostfile.substr(0, hostfile.find('\n'));
        hostfile.remove_prefix(std::min(hostfile.size(), line.size() + 1));
        out.emplace(line.substr(0, line.find_first_of(" :")));
        ++lines;
    }
    EXPECT_EQ(out.size(), lines) << "each once";
    return out;
}

void check(story& s, bool suspended) {
    doc::arena memory;
    const ref set = s.w.object(memory, "JobSet ns/" + s.name);
    EXPECT_EQ(set.get({"spec", "suspend"}).as_bool(!suspended), suspended);
    EXPECT_TRUE(equal(fixed_jobs(memory, set.get("spec")), fixed_jobs(memory, s.spec))) << "it keeps its templates";
    if (const ref map = s.w.object(memory, "ConfigMap ns/" + s.name + "-mpi-hostfile")) {
        EXPECT_EQ(listed_hosts(map.get({"data", "hostfile"}).as_string()), host_names(s));
    }
    std::int64_t pods = 0;
    for (const ref job : s.spec.get("replicatedJobs").items()) pods += pods_of(job);
    for (const char* group : {"PodGroup.scheduling.x-k8s.io ns/", "PodGroup.scheduling.volcano.sh ns/"}) {
        const ref found = s.w.object(memory, group + s.name);
        if (found) EXPECT_EQ(number(found.get({"spec", "minMember"})), pods);
    }
    if (const ref map = s.w.object(memory, "ConfigMap ns/" + s.name + "-flux-entrypoint")) {
        for (const ref job : s.spec.get("replicatedJobs").items()) {
            const ref role = job.get({"template", "metadata", "labels", "trainer.kubeflow.org/trainjob-ancestor-step"});
            if (role.as_string() != "trainer") continue;
            const std::string nodes = std::to_string(pods_of(job));
            EXPECT_NE(map.get({"data", "entrypoint.sh"}).as_string().find("-N " + nodes + " "), std::string_view::npos)
                << nodes << "\n"
                << map.get({"data", "entrypoint.sh"}).as_string();
        }
    }
}

TEST(golden_kept, everything_beside_a_job_set_that_keeps_its_templates_is_about_its_pods) {
    const recordings recorded;
    EXPECT_GT(recorded.all.size(), 100U);
    for (const stored_set& each : recorded.all) {
        for (unsigned seed = 0; seed < 4; ++seed) {
            SCOPED_TRACE(each.where + ", seed " + std::to_string(seed));
            story s(each, seed);
            for (const bool on : {true, false, true, false}) {
                s.suspend(on);
                check(s, on);
                if (testing::Test::HasFailure()) return;
                if (seed % 2 != 0) s.w.restart();
            }
        }
    }
}

}  // namespace
}  // namespace cotrain::reconcile
