// What holds for plans of all golden cases' jobs, whatever is in them: the same input gives the same bytes, the order
// of members means nothing, and what was made once is not made again.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"
#include "runtime/normalise.hpp"
#include "support/golden/golden_case.hpp"

namespace cotrain::golden {
namespace {

using doc::editor;
using doc::ref;

ref shuffled(doc::arena& memory, ref value, base::random_source& random) {
    if (value.is_array()) {
        editor out = editor::array(memory);
        for (const ref item : value.items()) out.append(shuffled(memory, item, random));
        return doc::freeze(memory, out);
    }
    if (!value.is_object()) return value;
    std::vector<doc::member> members(value.members().begin(), value.members().end());
    for (std::size_t i = members.size(); i > 1; --i) std::swap(members[i - 1], members[random.next() % i]);
    editor out = editor::object(memory);
    for (const auto& m : members) out.set(m.key(), shuffled(memory, m.value, random));
    return doc::freeze(memory, out);
}

struct pair {
    std::string name;
    ref runtime;
    ref job;
};

class plans : public testing::Test {
   protected:
    plans() {
        for (const auto& name : all_cases()) {
            kept_.push_back(std::make_unique<recorded_case>(name));
            std::map<std::string, ref> runtimes;
            for (const ref step : kept_.back()->steps.items()) {
                for (const ref document : step.get("apply").items()) add(*kept_.back(), document, runtimes);
            }
        }
    }

    void add(recorded_case& from, ref document, std::map<std::string, ref>& runtimes) {
        const auto kind = document.get("kind").as_string();
        const std::string name(document.get({"metadata", "name"}).as_string());
        if (kind.ends_with("Runtime")) {
            runtimes[name] = runtime::with_defaults(from.memory, document);
        } else if (kind == "TrainJob") {
            const auto found = runtimes.find(std::string(document.get({"spec", "runtimeRef", "name"}).as_string()));
            if (found == runtimes.end()) return;
            editor job = editor::of(from.memory, runtime::with_defaults(from.memory, document));
            job.ensure_object("metadata").set("uid", "u-1").set("namespace", "ns");
            pairs_.push_back({from.name + " " + name, found->second, doc::freeze(from.memory, job)});
        }
    }

    // Nothing where the case is one that cannot be planned.
    std::vector<runtime::object> plan(ref runtime_document, ref job_document, const runtime::observed& seen = {}) {
        const auto compiled = runtime::compiled_runtime::compile(runtime_document);
        const auto job = api::decode_train_job(job_document);
        if (!compiled || !job) return {};
        runtime::observed with_keys = seen;
        with_keys.make_ssh_key = [] {
            return plugins::make_ssh_key([](std::span<unsigned char> out) {
                std::ranges::fill(out, 7);
                return true;
            });
        };
        with_keys.make_curve_key = [] { return runtime::curve_key{"open", "secret"}; };
        auto made = framework_.new_objects(memory_, *job, **compiled, with_keys);
        return made ? std::move(*made) : std::vector<runtime::object>{};
    }

    std::vector<pair> pairs_;
    std::size_t planned_ = 0;
    doc::arena memory_;

   private:
    std::vector<std::unique_ptr<recorded_case>> kept_;
    plugins::builtin framework_;
};

TEST_F(plans, are_the_same_bytes_each_time) {
    for (const auto& p : pairs_) {
        const auto once = plan(p.runtime, p.job);
        const auto again = plan(p.runtime, p.job);
        ASSERT_EQ(once.size(), again.size()) << p.name;
        for (std::size_t i = 0; i < once.size(); ++i) EXPECT_EQ(once[i].json, again[i].json) << p.name;
        planned_ += once.empty() ? 0 : 1;
    }
    EXPECT_GT(planned_, all_cases().size() / 2) << "most cases can be planned";
}

TEST_F(plans, do_not_depend_on_the_order_of_members) {
    base::random_source random(1);
    for (const auto& p : pairs_) {
        const auto expected = plan(p.runtime, p.job);
        const auto actual = plan(shuffled(memory_, p.runtime, random), shuffled(memory_, p.job, random));
        ASSERT_EQ(expected.size(), actual.size()) << p.name;
        for (std::size_t i = 0; i < expected.size(); ++i) {
            const auto a = doc::parse_json_copy(memory_, expected[i].json);
            const auto b = doc::parse_json_copy(memory_, actual[i].json);
            ASSERT_TRUE(a && b) << p.name;
            EXPECT_TRUE(equal(*a, *b)) << p.name << "\n" << expected[i].json << "\n" << actual[i].json;
        }
    }
}

// Children that exist are not made again, but for what follows the job on every plan.
TEST_F(plans, of_running_jobs_leave_what_is_there_alone) {
    for (const auto& p : pairs_) {
        if (p.job.get({"spec", "suspend"}).as_bool(false)) continue;
        const auto once = plan(p.runtime, p.job);
        std::vector<runtime::observed_child> children;
        for (const auto& o : once) children.push_back({o.type, o.name, runtime::child_state::ours});
        const api::job_set running{};
        for (const auto& o : plan(p.runtime, p.job, {.children = children, .job_set = &running})) {
            EXPECT_NE(o.type->kind, "JobSet") << p.name;
            EXPECT_NE(o.type->kind, "PodGroup") << p.name;
            EXPECT_FALSE(o.name.ends_with("-runtime-snapshot")) << p.name;
            EXPECT_FALSE(o.name.ends_with("-mpi-ssh-auth")) << p.name;
            const auto same = std::ranges::find_if(
                once, [&](const runtime::object& before) { return before.type == o.type && before.name == o.name; });
            ASSERT_NE(same, once.end()) << p.name;
            EXPECT_EQ(same->json, o.json) << p.name;
        }
    }
}

}  // namespace
}  // namespace cotrain::golden
