// Plays the golden cases against the pure core: same verdicts, same objects, same statuses as the reference, but for
// the differences that are written down.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "support/golden/golden_case.hpp"
#include "support/golden/golden_compare.hpp"
#include "support/golden/golden_normal.hpp"
#include "support/golden/golden_owned.hpp"
#include "support/golden/golden_steps.hpp"
#include "support/golden/golden_world.hpp"

namespace cotrain::golden {
namespace {

// How much of the cases was decided here.
struct tally {
    std::size_t cases = 0;
    int snapshots = 0;
    int objects = 0;
    int owned = 0;
    int verdicts = 0;
    std::vector<std::string> by_crd;  // verdicts of the CRD, the decoder or the webhooks for runtimes
};

tally& totals() {
    static tally t;
    return t;
}

allowances& meant() {
    static allowances a;
    return a;
}

class player {
   public:
    explicit player(const std::string& name) : case_(name), world_(memory_) {}

    void play() {
        play_steps(case_, *this);
        if (case_.recording.members().back().key().ends_with(" snapshot end") && compared_.empty()) {
            compare_snapshot(std::string(case_.recording.members().back().key()));
        }
        for (const auto& d : differences_) {
            if (!meant().allows(case_.name, d.path)) ADD_FAILURE() << d.path << ": " << d.what;
        }
    }

    void apply(ref document, const std::string& key) {
        const ref expected = case_.recording.get(key);
        ASSERT_TRUE(expected) << "no recording of " << key;
        const ref stored = world_.admit(document);
        const bool accept =
            world::key_of(document).first == "TrainJob" ? decide(stored, {}, expected, key) : trust(expected, key);
        if (accept) world_.store(stored);
    }

    void change(ref patch, const target& what, const std::string& key) {
        const ref before = world_.find(what.kind, what.name);
        const ref expected = case_.recording.get(key);
        ASSERT_TRUE(expected) << "no recording of " << key;
        ASSERT_TRUE(before) << key;
        const ref after = world_.patched(before, patch);
        const bool whole = what.subresource != "status";
        const bool accept =
            what.kind == "TrainJob" && whole ? decide(after, before, expected, key) : trust(expected, key);
        if (!accept) return;
        world_.store(after);
        if (whole) world_.forget_applied({what.kind, what.name});
    }

    void remove(const target& what) { world_.remove(what.kind, what.name); }
    void pass(std::chrono::milliseconds time) { world_.pass(time); }
    void ended(ref step, const std::string& prefix) {
        world_.reconcile_all();
        if (const ref name = step.get("snapshot")) compare_snapshot(prefix + " snapshot " + std::string(name.text()));
    }

   private:
    // Not ours to decide here: CRDs, and the webhooks of runtimes.
    bool trust(ref expected, const std::string& key) {
        const bool accepted = expected.get("verdict").as_string() == "accepted";
        if (!accepted) totals().by_crd.push_back(case_.name + ": " + key);
        return accepted;
    }

    // What the plugins say of a TrainJob. What the CRD or the decoder refuses never gets that far.
    bool decide(ref document, ref before, ref expected, const std::string& key) {
        const bool accepted = expected.get("verdict").as_string() == "accepted";
        if (const auto code = expected.get("code").as_int(0); code == 422 || code == 400) return trust(expected, key);
        runtime::verdict ours;
        const auto job = api::decode_train_job(document);
        if (!job) {
            ours.invalid("spec", "", job.error().message);
        } else if (const auto runtime = before ? world_.runtime_of(*job) : world_.live_runtime(*job); !runtime) {
            ours.invalid("spec.runtimeRef", document.get({"spec", "runtimeRef"}), runtime.error().message);
        } else {
            const auto old = before ? api::decode_train_job(before) : base::result<api::train_job>{};
            const api::job_set set = world_.job_set_of(job->meta.name);
            const auto classes = missing_classes(*job, **runtime);
            std::vector<runtime::known_class> known;
            for (const auto& c : classes) known.push_back({c, runtime::presence::missing});
            const runtime::review r{.job = *job,
                                    .before = before ? &*old : nullptr,
                                    .job_set = world_.find("JobSet", job->meta.name) ? &set : nullptr,
                                    .priority_classes = known};
            ours = world_.operator_framework().validate_objects(memory_, r, **runtime);
        }
        ++totals().verdicts;
        if (ours.accepted() != accepted) {
            differences_.push_back({"/steps/" + key, ours.accepted() ? "accepted" : ours.message()});
        } else if (!accepted) {
            compare_findings(ours, expected.get("message"), key);
        }
        return ours.accepted();
    }

    // No PriorityClass exists in these cases.
    std::vector<std::string> missing_classes(const api::train_job& job, const runtime::compiled_runtime& runtime) {
        const auto info = runtime::info::make(memory_, runtime, job);
        return info ? plugins::volcano::priority_classes(*info) : std::vector<std::string>{};
    }

    // Paths and kinds of errors count, wording does not.
    void compare_findings(const runtime::verdict& ours, ref message, const std::string& key) {
        const std::size_t expected = message.is_array() ? message.size() - 1 : 1;
        const std::string text = doc::to_json(message);
        bool same = ours.errors.size() == expected;
        for (const auto& e : ours.errors) {
            std::string path = e.path;
            // The reference writes one of its paths with a capital letter.
            const bool found = text.contains(path + ": ") || text.contains("spec.RuntimeRef: ");
            const bool alike = text.contains(e.what == runtime::fault::forbidden ? "Forbidden" : "Invalid value");
            same = same && found && alike;
        }
        if (!same)
            differences_.push_back({"/steps/" + key + "/message", "expected " + text + ", got " + ours.message()});
    }

    void compare_snapshot(const std::string& key) {
        compared_ = key;
        const ref expected = case_.recording.get(key);
        ASSERT_TRUE(expected) << "no recording of " << key;
        normaliser normal(memory_, case_);
        editor actual = editor::object(memory_);
        for (const auto& [k, document] : world_.objects()) {
            actual.set(k.first + ":" + k.second, normal.object(document));
        }
        if (!world_.troubles().empty()) actual.set("Events", ref::empty_array());
        ++totals().snapshots;
        for (const auto& m : expected.members()) {
            ref wanted = m.value;
            if (wanted.as_string().starts_with("<as in snapshot ")) {
                wanted = last_.at(std::string(m.key()));
            } else {
                last_[std::string(m.key())] = wanted;
            }
            if (m.key() == "Events") {  // what they say is not compared: their texts are another room's
                if (!actual.contains("Events"))
                    differences_.push_back({"/steps/" + key + "/Events", "no trouble here"});
                continue;
            }
            ++totals().objects;
            const std::string path = "/steps/" + key + "/" + std::string(m.key());
            const std::size_t before = differences_.size();
            golden::compare(normal.recorded(m.key(), wanted), actual.get(m.key()), path, differences_);
            // Where the objects differ on purpose their owners do, too.
            if (differences_.size() == before) compare_owned(std::string(m.key()), wanted, path);
        }
        for (const auto& m : actual.view().members()) {
            if (expected.contains(m.key()) || is_input(m.key())) continue;
            const std::string what = m.key() == "Events" ? world_.troubles().begin()->second : "not expected";
            differences_.push_back({"/steps/" + key + "/" + std::string(m.key()), what});
        }
    }

    // The operator owns the fields that the reference owned.
    void compare_owned(const std::string& name, ref wanted, const std::string& path) {
        const std::size_t colon = name.find(':');
        const ref applied = world_.applied({name.substr(0, colon), name.substr(colon + 1)});
        if (!applied) return;
        ++totals().owned;
        const auto expected = ownership::recorded(wanted.get("ownedByTrainer"));
        const auto ours = ownership::of(applied);
        for (const auto& field : expected) {
            if (!ours.contains(field)) differences_.push_back({path + "/ownedByTrainer", "not owned: " + field});
        }
        for (const auto& field : ours) {
            if (!expected.contains(field)) differences_.push_back({path + "/ownedByTrainer", "owned: " + field});
        }
    }

    // Objects of the case itself which recordings may leave out.
    [[nodiscard]] bool is_input(std::string_view key) const {
        return key.starts_with("TrainingRuntime:") || key.starts_with("ClusterTrainingRuntime:");
    }

    recorded_case case_;
    doc::arena memory_;
    world world_;
    std::vector<difference> differences_;
    std::map<std::string, ref> last_;
    std::string compared_;
};

class golden_cases : public testing::TestWithParam<std::string> {};

TEST_P(golden_cases, come_out_as_recorded) {
    ++totals().cases;
    player(GetParam()).play();
}

INSTANTIATE_TEST_SUITE_P(all, golden_cases, testing::ValuesIn(all_cases()), [](const auto& i) {
    std::string name = i.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

// After all cases: nothing may be written down in vain, and what was not decided here has a name.
class summary : public testing::Environment {
   public:
    void TearDown() override {
        const tally& t = totals();
        if (t.cases < all_cases().size()) return;  // only some cases ran
        for (const auto& entry : meant().stale()) ADD_FAILURE() << "differences.json: not needed: " << entry;
        std::printf(
            "golden: %zu cases, %d snapshots with %d objects (of %d the owned fields, "
            "too) and %d verdicts compared; %zu verdicts are the "
            "CRD's, the decoder's or a runtime webhook's:\n",
            t.cases, t.snapshots, t.objects, t.owned, t.verdicts, t.by_crd.size());
        for (const auto& name : t.by_crd) std::printf("  %s\n", name.c_str());
    }
};

const testing::Environment* const at_the_end = testing::AddGlobalTestEnvironment(new summary);

}  // namespace
}  // namespace cotrain::golden
