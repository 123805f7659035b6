// Counts of Pods over generated runtimes and jobs: JobSet, PodGroup, hostfile and environment tell of the same Pods,
// and of as many as the reference makes, except where a numbered difference says otherwise.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "plan.hpp"

namespace cotrain::plugins {
namespace {

using count = std::optional<int>;

struct job_spec {
    std::string name;
    std::string role;  // the label; empty = none
    count replicas;
    count parallelism;
    count completions;
};

struct case_spec {
    std::string policy;  // "none", "plain", "torch", "jax", "xgboost", "flux", "mpi"
    bool as_node = false;
    std::string scheduler = "coscheduling";
    std::string subdomain;
    count runtime_nodes;
    count job_nodes;
    std::vector<job_spec> jobs;

    [[nodiscard]] bool mpi() const { return policy == "mpi"; }
    [[nodiscard]] bool has_policy() const { return policy != "none"; }
    [[nodiscard]] std::string trainer() const {  // the job that trains
        const auto labelled = std::ranges::find(jobs, "trainer", &job_spec::role);
        if (labelled != jobs.end()) return labelled->name;
        return std::ranges::contains(jobs, "node", &job_spec::name) ? "node" : "";
    }
    [[nodiscard]] bool unlabelled() const { return !std::ranges::contains(jobs, "trainer", &job_spec::role); }
};

std::string member(std::string_view name, const count& value) {
    return value ? ", " + std::string(name) + ": " + std::to_string(*value) : "";
}

std::string runtime_of(const case_spec& c) {
    std::string policies = "podGroupPolicy: {" + c.scheduler + ": {}}";
    if (c.has_policy()) {
        const std::string inner = c.mpi() && c.as_node ? "{runLauncherAsNode: true}" : "{}";
        policies += "\n  mlPolicy: {" + (c.policy == "plain" ? "" : c.policy + ": " + inner);
        if (c.runtime_nodes)
            policies += (c.policy == "plain" ? "" : ", ") + member("numNodes", c.runtime_nodes).substr(2);
        policies += "}";
    }
    std::string jobs = c.subdomain.empty() ? "" : "\n      network: {subdomain: " + c.subdomain + "}";
    jobs += "\n      replicatedJobs:\n";
    for (const auto& j : c.jobs) {
        jobs += "      - {name: " + j.name + member("replicas", j.replicas) + ", template: {";
        if (!j.role.empty())
            jobs += "metadata: {labels: {trainer.kubeflow.org/trainjob-ancestor-step: " + j.role + "}}, ";
        jobs += "spec: {template: {spec: {containers: [{name: node, image: i}]}}" +
                member("parallelism", j.parallelism) + member("completions", j.completions) + "}}}\n";
    }
    return runtime_text(policies, jobs);
}

class generator {
   public:
    explicit generator(std::uint64_t seed) : random_(seed) {}

    case_spec next() {
        case_spec c;
        c.policy = one_of({"none", "plain", "torch", "jax", "xgboost", "flux", "mpi", "mpi"});
        c.as_node = one_in(2);
        c.scheduler = one_of({"coscheduling", "volcano"});
        c.subdomain = one_in(3) ? "mesh" : "";
        c.runtime_nodes = perhaps(0, 4);
        c.job_nodes = perhaps(0, 4);
        if (one_in(4)) c.jobs.push_back(job("dataset-initializer", "dataset-initializer"));
        if (c.mpi() ? !one_in(6) : one_in(6)) c.jobs.push_back(job("launcher", label()));
        if (!one_in(8)) c.jobs.push_back(job("node", label()));
        if (one_in(4) || c.jobs.empty()) c.jobs.push_back(job("servers", one_in(4) ? "trainer" : ""));
        return c;
    }

   private:
    bool one_in(std::uint64_t n) { return random_.next() % n == 0; }
    std::string one_of(std::vector<std::string> words) { return words[random_.next() % words.size()]; }
    std::string label() { return one_in(2) ? "trainer" : ""; }
    count perhaps(int from, int to) {
        if (one_in(3)) return std::nullopt;
        return from + static_cast<int>(random_.next() % static_cast<std::uint64_t>(to - from + 1));
    }
    job_spec job(std::string name, std::string role) {
        return {std::move(name), std::move(role), perhaps(1, 4), perhaps(0, 5), perhaps(1, 5)};
    }

    base::random_source random_;
};

struct size {
    std::int64_t replicas = 0;
    std::int64_t pods = 0;  // of each

    friend bool operator==(const size&, const size&) = default;
    friend void PrintTo(const size& s, std::ostream* out) { *out << s.replicas << " x " << s.pods; }
};

// What the reference (v2.3.0) makes of a job.
size there(const case_spec& c, const job_spec& j) {
    size s{j.role.empty() ? j.replicas.value_or(1) : 1, std::max(j.parallelism.value_or(1), 1)};
    if (j.role == "trainer" && c.has_policy()) s.pods = std::max(c.runtime_nodes.value_or(1), 1);
    if (!c.job_nodes) return s;
    if (c.mpi() && j.name == "node") s.pods = c.as_node ? std::max(*c.job_nodes - 1, 1) : *c.job_nodes;
    if (!c.mpi() && !c.unlabelled() && j.name == c.trainer()) s.pods = *c.job_nodes;
    return s;
}

// The same, but for the numbered differences.
size here(const case_spec& c, const job_spec& j) {
    size s = there(c, j);
    const count wanted = c.job_nodes ? c.job_nodes : c.has_policy() ? c.runtime_nodes : std::nullopt;
    if (c.mpi() && j.name == "launcher") return {1, 1};  // 18
    if (c.mpi() && j.name == "node" && j.role.empty() && !c.job_nodes && c.runtime_nodes.value_or(1) > 1) {
        s.pods = c.as_node ? *c.runtime_nodes - 1 : *c.runtime_nodes;  // 18
    }
    if (!c.mpi() && c.unlabelled() && j.name == "node" && wanted) {
        s.pods = c.job_nodes ? *wanted : std::max(*wanted, 1);  // 27
    }
    return s;
}

// The JobSet's jobs, and the host names of their Pods.
struct planned {
    std::map<std::string, size, std::less<>> sizes;
    std::map<std::string, std::vector<std::string>, std::less<>> hosts;
    std::int64_t pods = 0;
};

planned read(doc::ref job_set) {
    planned out;
    const auto subdomain = job_set.get({"spec", "network", "subdomain"}).as_string("job");
    for (const doc::ref job : job_set.get({"spec", "replicatedJobs"}).items()) {
        const std::string name(job.get("name").as_string());
        const doc::ref spec = job.get({"template", "spec"});
        const size s{job.get("replicas").as_int(1), spec.get("parallelism").as_int(-1)};
        EXPECT_EQ(spec.get("completions").as_int(-1), s.pods) << name;
        out.sizes[name] = s;
        out.pods += s.replicas * s.pods;
        for (std::int64_t r = 0; r < s.replicas; ++r) {
            for (std::int64_t p = 0; p < s.pods; ++p) {
                out.hosts[name].push_back("job-" + name + "-" + std::to_string(r) + "-" + std::to_string(p) + "." +
                                          std::string(subdomain));
            }
        }
    }
    return out;
}

class counts : public testing::Test {
   protected:
    static constexpr int rounds = 3000;

    // Makes the plan of a case and hands it to `check` with its JobSet.
    template <class F>
    void each(std::uint64_t seed, const F& check) {
        generator generate(seed);
        for (int round = 0; round < rounds && !HasFailure(); ++round) {
            const case_spec c = generate.next();
            const std::string runtime = runtime_of(c);
            const std::string job =
                job_text(c.job_nodes ? "trainer: {numNodes: " + std::to_string(*c.job_nodes) + "}" : "");
            SCOPED_TRACE(runtime + job);
            plan p(runtime, job);
            p.seen.make_ssh_key = [] { return runtime::ssh_key{"private", "public"}; };
            p.seen.make_curve_key = [] { return runtime::curve_key{"open", "secret"}; };
            check(c, p, read(p.object("JobSet")));
        }
    }
};

TEST_F(counts, are_the_references_but_for_the_numbered_differences) {  // 18, 27
    each(1, [](const case_spec& c, plan&, const planned& made) {
        for (const auto& j : c.jobs) EXPECT_EQ(made.sizes.at(j.name), here(c, j)) << j.name;
    });
}

TEST_F(counts, of_the_pod_group_are_those_of_the_job_set) {
    each(2, [](const case_spec&, plan& p, const planned& made) {
        const doc::ref group = p.object("PodGroup");
        EXPECT_EQ(group.get({"spec", "minMember"}).as_int(0), made.pods);
        EXPECT_EQ(static_cast<bool>(group), made.pods > 0) << "schedulers refuse groups of none";
    });
}

TEST_F(counts, of_the_hostfile_are_those_of_the_job_set) {
    each(3, [](const case_spec& c, plan& p, const planned& made) {
        if (!c.mpi()) return;
        std::string expected;
        for (const auto& j : c.jobs) {
            if (j.name != "node" && !(c.as_node && j.name == "launcher")) continue;
            const auto found = made.hosts.find(j.name);
            if (found == made.hosts.end()) continue;
            for (const auto& host : found->second) expected += host + " slots=1\n";
        }
        EXPECT_EQ(p.object("ConfigMap", "job-mpi-hostfile").get({"data", "hostfile"}).as_string(), expected);
    });
}

// The rank that a Pod reads from the field.
std::int64_t rank_of(std::string_view field, std::int64_t replica, std::int64_t pod) {
    if (field == "metadata.annotations['batch.kubernetes.io/job-completion-index']") return pod;
    EXPECT_EQ(field, "metadata.annotations['jobset.sigs.k8s.io/job-index']");
    return replica;
}

TEST_F(counts, in_the_environment_are_those_of_the_trainer_and_each_pod_has_a_rank) {
    struct variables {
        const char* nodes;
        const char* rank;
        const char* master;
    };
    const std::map<std::string, variables, std::less<>> known{
        {"torch", {"PET_NNODES", "PET_NODE_RANK", "PET_MASTER_ADDR"}},
        {"jax", {"JAX_NUM_PROCESSES", "JAX_PROCESS_ID", "JAX_COORDINATOR_ADDRESS"}},
        {"xgboost", {"DMLC_NUM_WORKER", "DMLC_TASK_ID", "DMLC_TRACKER_URI"}}};
    each(4, [&](const case_spec& c, plan& p, const planned& made) {
        const auto framework = known.find(c.policy);
        const std::string trainer = c.trainer();
        if (framework == known.end() || trainer.empty()) return;
        const size s = made.sizes.at(trainer);
        const doc::ref env = p.container(trainer).get("env");
        const doc::ref nodes = env.find_by("name", framework->second.nodes).get("value");
        ASSERT_EQ(static_cast<bool>(nodes), s.replicas == 1 || s.pods == 1) << "no field tells these Pods apart";
        if (!nodes) return;
        EXPECT_EQ(nodes.as_string(), std::to_string(s.replicas * s.pods));
        const doc::ref field = env.find_by("name", framework->second.rank).get({"valueFrom", "fieldRef", "fieldPath"});
        std::set<std::int64_t> ranks;
        for (std::int64_t r = 0; r < s.replicas; ++r) {
            for (std::int64_t n = 0; n < s.pods; ++n) ranks.insert(rank_of(field.as_string(), r, n));
        }
        EXPECT_EQ(ranks.size(), static_cast<std::size_t>(s.replicas * s.pods));
        if (ranks.empty()) return;
        EXPECT_EQ(*ranks.begin(), 0);
        EXPECT_EQ(*ranks.rbegin(), s.replicas * s.pods - 1);
        EXPECT_TRUE(p.env(framework->second.master, trainer).starts_with(made.hosts.at(trainer).front()));
    });
}

TEST_F(counts, in_fluxs_scripts_are_those_of_the_trainer) {
    each(5, [](const case_spec& c, plan& p, const planned& made) {
        const std::string trainer = c.trainer();
        if (c.policy != "flux" || trainer.empty()) return;
        const size s = made.sizes.at(trainer);
        const doc::ref scripts = p.object("ConfigMap", "job-flux-entrypoint").get("data");
        const std::string nodes = std::to_string(s.replicas * s.pods);
        EXPECT_TRUE(scripts.get("entrypoint.sh").as_string().contains("flags=\"-N " + nodes + " -n " + nodes + "\""));
        std::string hosts;
        for (std::int64_t r = 0; r < s.replicas; ++r) {
            const std::string range = s.pods <= 1 ? "0" : "0-" + std::to_string(s.pods - 1);
            hosts += (r == 0 ? "" : ",") + ("job-" + trainer + "-" + std::to_string(r)) + "-[" + range + "]";
        }
        EXPECT_TRUE(scripts.get("init.sh").as_string().contains("hosts=\"" + hosts + "\"")) << hosts;
    });
}

TEST_F(counts, are_known_at_admission) {
    each(6, [](const case_spec& c, plan& p, const planned&) {
        const auto verdict = p.review();
        const bool lacks = c.mpi() && c.as_node && c.job_nodes.value_or(1) >= 2 &&
                           (!std::ranges::contains(c.jobs, "launcher", &job_spec::name) ||
                            !std::ranges::contains(c.jobs, "node", &job_spec::name));
        EXPECT_EQ(verdict.accepted(), !lacks) << verdict.message();
    });
}

}  // namespace
}  // namespace cotrain::plugins
