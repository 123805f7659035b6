// Every verdict of the golden cases through the whole of admission, in the API server's order: schema pruned and
// defaulted, mutating webhook, schema checked, validating webhook.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "admission/cluster.hpp"
#include "crd/check.hpp"
#include "crd/crd.hpp"
#include "support/golden/golden_case.hpp"
#include "support/golden/golden_steps.hpp"
#include "support/golden/golden_world.hpp"

namespace cotrain::golden {
namespace {

namespace schema = crd;

// Steps that the reference's CRD or decoder refuses, or prunes, and ours takes on purpose. What comes of them is not in
// the recordings, so they are not among those of test/golden/differences.json.
struct intended {
    std::string_view name;
    std::string_view step;
    std::string_view reason;
};
constexpr intended taken_here[] = {
    {"mpi-crd", "01 a apply TrainingRuntime intel", "25: Intel works, too"},
    {"mpi-crd", "01 b apply TrainingRuntime mpich", "25: MPICH works, too"},
    {"runtime-crd", "01 e apply TrainingRuntime text", "27: the earlier dialect has mlPolicy.torch.numProcPerNode"},
    {"torch-nproc-auto-text", "02 a apply TrainJob job", "27: the earlier dialect has words"},
};

// Jobs of which the reference says nothing, and no Pod can be made: warned of here, with the verdict as it is.
constexpr std::pair<std::string_view, std::string_view> without_pods[] = {
    {"cosched-basic", "02 a apply TrainJob job"}, {"cosched-job-resources", "02 a apply TrainJob job"},
    {"cosched-mpi", "02 a apply TrainJob job"},   {"crd-name-63-mpi", "02 a apply TrainJob "},
    {"crd-names", "02 c apply TrainJob "},        {"plain-empty-lists", "02 a apply TrainJob job"},
    {"res-merge", "02 b apply TrainJob req"},     {"volcano-basic", "02 a apply TrainJob job"},
};

struct opinion {
    std::string code = "accepted";
    std::vector<std::string> errors;
    std::vector<std::string> warnings;
    ref stored;
};

// "spec.trainer.env[0].name" of "spec.trainer.env[0].name: Invalid value: …".
std::string path_of(std::string_view text) {
    const std::size_t end = text.find(": ");
    return std::string(text.substr(0, end == std::string_view::npos ? 0 : end));
}

// The parts of a recorded message: a list begins with what all of them have in common.
std::vector<std::string> recorded_errors(ref message) {
    std::vector<std::string> out;
    if (message.is_array()) {
        for (std::size_t i = 1; i < message.size(); ++i) out.emplace_back(message.at(i).as_string());
        return out;
    }
    const std::string_view text = message.as_string();
    for (const std::string_view end : {"denied the request: ", " is invalid: "}) {
        if (const std::size_t at = text.find(end); at != std::string_view::npos) {
            return {std::string(text.substr(at + end.size()))};
        }
    }
    return {std::string(text)};
}

class player {
   public:
    explicit player(const std::string& name) : case_(name), world_(memory_) {}

    void play() { play_steps(case_, *this); }

    void apply(ref document, const std::string& key) { settle(judge(world_.admit(document), {}), key); }
    void change(ref patch, const target& what, const std::string& key) {
        const ref before = world_.find(what.kind, what.name);
        ASSERT_TRUE(before) << key;
        const ref after = world_.patched(before, patch);
        if (what.subresource.empty()) {
            settle(judge(after, before), key);
        } else {
            world_.store(after);
        }
    }
    void remove(const target& what) { world_.remove(what.kind, what.name); }
    void pass(std::chrono::milliseconds) {}
    void ended(ref, const std::string&) { world_.reconcile_all(); }

    int verdicts = 0;

   private:
    static std::optional<admission::hook> validator_of(std::string_view kind) {
        if (kind == "TrainJob") return admission::hook::validate_train_job;
        if (kind == "TrainingRuntime") return admission::hook::validate_training_runtime;
        if (kind == "ClusterTrainingRuntime") return admission::hook::validate_cluster_training_runtime;
        return std::nullopt;
    }

    opinion judge(ref document, ref before) {
        opinion out{.stored = document};
        const std::string kind(document.get("kind").as_string());
        const schema::node* const type = schema::schema_of(kind);
        if (type == nullptr) return out;
        const auto shaped = schema::shape(memory_, *type, document);
        for (const auto& field : shaped.unknown_fields) out.warnings.push_back("unknown field \"" + field + "\"");
        out.stored = doc::freeze(memory_, shaped.document);
        if (kind == "TrainJob" && !ask(admission::hook::default_train_job, out, before)) return out;
        const ref was = before ? before : ref{};
        for (const auto& fault : schema::check(*type, schema::without_status(memory_, out.stored),
                                               was ? schema::without_status(memory_, was) : was)) {
            out.code = "422";
            out.errors.push_back(schema::to_string(fault));
        }
        if (out.errors.empty()) ask(*validator_of(kind), out, before);
        return out;
    }

    // Whether the webhook lets the object pass; a patch is laid on it.
    bool ask(admission::hook h, opinion& out, ref before) {
        const bool skipped =
            out.stored.get({"metadata", "labels", "trainer.kubeflow.org/webhook-validation"}).as_string() == "disabled";
        if (skipped && h != admission::hook::default_train_job && h != admission::hook::validate_train_job) return true;
        admission::call c(h, admission::review_json(out.stored, before), now_, world_.operator_framework(), {});
        while (const auto q = c.next()) {
            const ref found = world_.find(std::string(q->type->kind), q->name);
            c.tell({.state = found ? runtime::presence::exists : runtime::presence::missing, .document = found});
        }
        const auto reply = admission::read_reply(c.finish());
        for (const auto& w : reply.warnings) out.warnings.push_back(w);
        if (!reply.patch.empty()) out.stored = patched(out.stored, reply.patch);
        if (reply.allowed) return true;
        out.code = std::to_string(reply.code);
        for (const auto& field : reply.fields) out.errors.push_back(field + ": ");
        if (out.errors.empty()) out.errors.push_back(reply.message);
        message_ = reply.message;
        return false;
    }

    // As much of RFC 6902 as is used: add and remove.
    ref patched(ref document, const std::string& json) {
        const auto operations = doc::parse_json_copy(memory_, json);
        editor out = editor::of(memory_, doc::deep_copy(memory_, document));
        for (const ref op : operations->items()) {
            std::string pointer(op.get("path").as_string());
            editor at = out;
            std::string_view rest(pointer);
            while (true) {
                rest.remove_prefix(1);
                const std::size_t end = rest.find('/');
                std::string step(rest.substr(0, end));
                replace_all(step, "~1", "/");
                replace_all(step, "~0", "~");
                if (end == std::string_view::npos) {
                    if (op.get("op").as_string() == "remove") {
                        EXPECT_TRUE(at.remove(step)) << json;
                    } else {
                        at.set(step, op.get("value"));
                    }
                    break;
                }
                rest.remove_prefix(end);
                at = at.type() == doc::kind::array ? at.child(std::stoul(step)) : at.child(step);
                if (!at) {
                    ADD_FAILURE() << "no place " << pointer;
                    break;
                }
            }
        }
        return doc::freeze(memory_, out);
    }

    void settle(const opinion& ours, const std::string& key) {
        const ref expected = case_.recording.get(key);
        ASSERT_TRUE(expected) << "no recording of " << key;
        ++verdicts;
        if (ours.code == "accepted") {
            world_.store(ours.stored);
            if (key.contains(" patch ")) world_.forget_applied(world::key_of(ours.stored));
        }
        if (std::ranges::any_of(taken_here, [&](const intended& i) { return i.name == case_.name && i.step == key; })) {
            EXPECT_EQ(ours.code, "accepted") << key;
            return;
        }
        if (intended_.allows(case_.name, "/steps/" + key)) return;
        const std::string code = expected.get("verdict").as_string() == "accepted"
                                     ? "accepted"
                                     : std::to_string(expected.get("code").as_int(0));
        EXPECT_EQ(ours.code, code) << key << ": " << testing::PrintToString(ours.errors) << " " << message_;
        if (ours.code != code) return;
        compare_warnings(ours, expected, key);
        if (code != "accepted") compare_errors(ours, expected.get("message"), key);
    }

    void compare_warnings(opinion ours, ref expected, const std::string& key) {
        const bool without = std::ranges::any_of(
            without_pods, [&](const auto& w) { return w.first == case_.name && key.starts_with(w.second); });
        const auto told =
            std::erase_if(ours.warnings, [](const std::string& w) { return w.contains(": no Pod can be made: "); });
        EXPECT_EQ(told > 0, without) << key;
        const ref recorded = expected.get("warnings");
        EXPECT_EQ(ours.warnings.size(), recorded.size()) << key << ": " << testing::PrintToString(ours.warnings);
        for (std::size_t i = 0; i < std::min(ours.warnings.size(), recorded.size()); ++i) {
            // The same start, up to the name in quotes: "unknown field …", "Referenced ClusterTrainingRuntime …".
            const std::string_view theirs = recorded.at(i).as_string();
            const std::size_t quoted = theirs.find('"', theirs.find('"') + 1);
            EXPECT_TRUE(ours.warnings[i].starts_with(theirs.substr(0, quoted + 1))) << key << ": " << ours.warnings[i];
        }
    }

    // Paths and their number; of what a decoder of another language says, that ours names the field.
    void compare_errors(const opinion& ours, ref message, const std::string& key) {
        std::vector<std::string> recorded = recorded_errors(message);
        if (ours.code == "400") {
            ASSERT_EQ(recorded.size(), 1U) << key;
            EXPECT_TRUE(ours.errors.front().contains("spec.")) << key << ": " << ours.errors.front();
            const std::size_t field = recorded[0].find("field ");
            if (field == std::string::npos) return;
            std::string path = recorded[0].substr(field + 6);
            path = path.substr(path.find('.') + 1);
            path = path.substr(0, path.find(' '));
            if (!path.starts_with("spec.")) return;
            EXPECT_TRUE(ours.errors.front().contains(path)) << key << ": " << path;
            return;
        }
        // "some validation rules were not checked" is no fault.
        std::erase_if(recorded, [](const std::string& e) { return e.contains("rules were not checked"); });
        std::multiset<std::string> theirs;
        std::multiset<std::string> mine;
        for (const auto& e : recorded) theirs.insert(path_of(e) == "spec.RuntimeRef" ? "spec.runtimeRef" : path_of(e));
        for (const auto& e : ours.errors) mine.insert(path_of(e));
        // Names are the API server's to check.
        theirs.erase("metadata.name");
        EXPECT_EQ(mine, theirs) << key << ": " << doc::to_json(message) << " " << message_;
    }

    recorded_case case_;
    doc::arena memory_;
    world world_;
    allowances intended_;
    base::seconds_time now_ = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};
    std::string message_;
};

class golden_verdicts : public testing::TestWithParam<std::string> {};

TEST_P(golden_verdicts, are_those_of_the_reference) { player(GetParam()).play(); }

INSTANTIATE_TEST_SUITE_P(all, golden_verdicts, testing::ValuesIn(all_cases()), [](const auto& i) {
    std::string name = i.param;
    std::ranges::replace(name, '-', '_');
    return name;
});

}  // namespace
}  // namespace cotrain::golden
