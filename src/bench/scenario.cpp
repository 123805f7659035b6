#include "bench/scenario.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <initializer_list>
#include <utility>

#include "app/config/config.hpp"
#include "app/nearest.hpp"
#include "app/render/manifests.hpp"
#include "doc/decode.hpp"
#include "doc/json.hpp"
#include "sim/table.hpp"

namespace cotrain::bench {

namespace {

using doc::place;

// A trainer whose Pods want an image and a command, and nothing else.
constexpr std::string_view containers =
    R"("spec":{"template":{"spec":{"containers":[{"name":"node","image":"registry.example.com/team/train:v1"}]}}})";
constexpr std::string_view trainer =
    R"("metadata":{"labels":{"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}})";
constexpr std::string_view runtime_name = "bench";

constexpr std::string_view completed =
    R"({"status":{"conditions":[{"type":"Completed","status":"True","reason":"AllJobsCompleted",)"
    R"("message":"jobset completed successfully","lastTransitionTime":"2026-01-01T00:00:00Z"}],)"
    R"("replicatedJobsStatus":[{"name":"node","ready":0,"succeeded":1,"failed":0,"active":0,"suspended":0}]}})";

std::string runtime_of(const bench_load& load) {
    const bool mpi = load.policy == bench_policy::mpi;
    const std::string policy =
        mpi ? R"("mpi":{"numProcPerNode":1,"mpiImplementation":"OpenMPI","sshAuthMountPath":"/home/mpiuser/.ssh"})"
        : load.policy == bench_policy::torch ? R"("torch":{})"
                                             : "";
    const std::string jobs =
        mpi ? fmt::format(R"({{"name":"launcher","template":{{{0},{1}}}}},{{"name":"node","template":{{{1}}}}})",
                          trainer, containers)
            : fmt::format(R"({{"name":"node","template":{{{},{}}}}})", trainer, containers);
    return fmt::format(
        R"({{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainingRuntime","metadata":{{"name":"{}",)"
        R"("labels":{{"trainer.kubeflow.org/framework":"{}"}}}},"spec":{{"mlPolicy":{{"numNodes":1{}{}}},)"
        R"("template":{{"spec":{{{}"replicatedJobs":[{}]}}}}}}}})",
        runtime_name, to_string(load.policy), policy.empty() ? "" : ",", policy,
        mpi ? R"("network":{"publishNotReadyAddresses":true},"successPolicy":{"operator":"All","targetReplicatedJobs":["launcher"]},)"
            : "",
        jobs);
}

std::string with_number(std::string text, std::int64_t number) {
    const std::string digits = std::to_string(number);
    for (std::size_t at = 0; (at = text.find(number_mark, at)) != std::string::npos; at += digits.size())
        text.replace(at, number_mark.size(), digits);
    return text;
}

// Reads one scenario; the first mistake is kept with its place.
class reader {
   public:
    explicit reader(std::filesystem::path file) : file_(std::move(file)) {}

    scenario read(const place& all) {
        allow(all, {"apiVersion", "kind", "title", "definitions", "before", "object", "done", "ends", "update",
                    "remove", "players"});
        out_.title = file_.stem().string();
        all.read("title", out_.title);
        read_files(all, "definitions", out_.definitions);
        read_files(all, "before", out_.before);
        read_object(all.object("object"));
        out_.done = awaited(all, "done");
        if (all.member("ends")) out_.ends = awaited(all, "ends");
        read_update(all.object("update"));
        all.read("remove", out_.removes);
        all.each_object("players", [&](const place& each) { read_player(each); });
        return std::move(out_);
    }

   private:
    static void allow(const place& at, std::initializer_list<std::string_view> known) {
        for (const doc::member& each : at.value().members()) {
            if (std::ranges::contains(known, each.key())) continue;
            at.member(each.key())
                .mistake("unknown field" + app::did_you_mean(each.key(), {known.begin(), known.size()}));
        }
    }

    // Objects as they stand there, or names of files and folders beside this one.
    void read_files(const place& all, std::string_view key, std::vector<std::string>& into) {
        const place list = all.array(key);
        for (std::size_t i = 0; i < list.size(); ++i) {
            const place each = list.item(i);
            if (each.value().is_object()) {
                into.push_back(doc::to_json(each.value()));
            } else if (each.value().is_string()) {
                app::manifests found;
                if (auto done = found.add_path((file_.parent_path() / each.value().text()).string(), nullptr); !done)
                    each.mistake(done.error().message);
                for (const app::manifest& one : found.list()) into.push_back(doc::to_json(one.document));
            } else {
                each.expected("an object, or the name of a file or folder");
            }
        }
    }

    void read_type(const place& at, object_type& into) {
        at.require("apiVersion");
        at.require("kind");
        at.read("apiVersion", into.api_version);
        at.read("kind", into.kind);
    }

    void read_name(const place& at, std::string_view key, numbered_name& into) {
        std::string text;
        at.read(key, text);
        const std::size_t first = text.find(number_mark);
        if (first == std::string::npos || text.find(number_mark, first + 1) != std::string::npos)
            at.member(key).mistake(fmt::format("has to have {} once: the number of the object", number_mark));
        else
            into = numbered_name(text);
    }

    void read_object(const place& at) {
        if (!at) return at.mistake("is missing: what is to be made");
        read_type(at, out_.type);
        read_name(at.object("metadata"), "name", out_.name);
        out_.object = doc::to_json(at.value());
    }

    awaited_state awaited(const place& above, std::string_view key) {
        const place at = above.object(key);
        awaited_state out{.type = out_.type, .name = out_.name};
        if (!at) {
            at.mistake("is missing: when the controller is done with an object");
            return out;
        }
        allow(at, {"apiVersion", "kind", "name", "condition", "conditions", "field", "value"});
        if (at.member("kind") || at.member("apiVersion")) read_type(at, out.type);
        if (at.member("name")) read_name(at, "name", out.name);
        at.read_strings("conditions", out.conditions);
        if (at.member("condition")) at.read("condition", out.conditions.emplace_back());
        at.read("field", out.path);
        if (at.member("value")) at.read("value", out.value.emplace());
        if (out.value && out.path.empty()) at.member("value").mistake("of which field? `field` says it");
        if (out.type == out_.type && !out.needs_content())
            at.mistake("is so from the start: name another kind, a condition or a field");
        return out;
    }

    void read_update(const place& at) {
        if (!at) return;
        allow(at, {"patch", "done"});
        at.require("patch");
        out_.update = doc::to_json(at.object("patch").value());
        out_.updated = awaited(at, "done");
    }

    void read_player(const place& at) {
        allow(at, {"apiVersion", "kind", "after", "status"});
        played_kind& out = out_.players.emplace_back();
        read_type(at, out.type);
        std::string after = "0s";
        at.read("after", after);
        const auto time = after == "0s" ? std::chrono::milliseconds{0} : app::parse_go_duration(after);
        if (!time || time->count() < 0) at.member("after").mistake("expected a time like 50ms or 1s");
        out.after = time.value_or(std::chrono::milliseconds{0});
        at.require("status");
        out.status = fmt::format(R"({{"status":{}}})", doc::to_json(at.object("status").value()));
    }

    std::filesystem::path file_;
    scenario out_{};
};

}  // namespace

numbered_name::numbered_name(std::string_view text)
    : before_(text.substr(0, text.find(number_mark))),
      after_(text.substr(text.find(number_mark) + number_mark.size())) {}

std::string numbered_name::of(std::int64_t number) const { return fmt::format("{}{}{}", before_, number, after_); }

std::int64_t numbered_name::number_of(std::string_view name) const {
    std::int64_t out = -1;
    if (!name.starts_with(before_) || !name.ends_with(after_)) return -1;
    if (name.size() <= before_.size() + after_.size()) return -1;
    name = name.substr(before_.size(), name.size() - before_.size() - after_.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), out);
    return error == std::errc{} && end == name.data() + name.size() && out >= 0 ? out : -1;
}

std::int64_t numbered_name::number_in_path(std::string_view path) const {
    path = path.substr(0, path.find('?'));
    const std::size_t at = path.rfind("/" + before_);
    if (before_.empty() || at == std::string_view::npos) return -1;
    path.remove_prefix(at + 1);
    const std::size_t end = path.find_first_not_of("0123456789", before_.size());
    return number_of(fmt::format("{}{}", path.substr(0, end), after_));
}

bool awaited_state::holds(doc::ref object) const {
    if (!conditions.empty()) {
        const doc::ref list = object.get({"status", "conditions"});
        return std::ranges::any_of(conditions, [&](const std::string& type) {
            return list.find_by("type", type).get("status").as_string() == "True";
        });
    }
    if (path.empty()) return true;
    const doc::ref found = sim::look_up(object, path);
    if (!value) return !found.is_unset();
    return found.is_string() ? found.as_string() == *value : doc::to_json(found) == *value;
}

std::string scenario::object_of(std::int64_t number) const { return with_number(object, number); }

std::string scenario::update_of(std::int64_t number) const { return with_number(update, number); }

scenario train_job_scenario(const bench_load& load, bool ends, bool completes) {
    scenario out;
    const object_type job{"trainer.kubeflow.org/v1alpha1", "TrainJob"};
    out.title = fmt::format("{} jobs of {} node{}", to_string(load.policy), load.nodes, load.nodes == 1 ? "" : "s");
    out.before.push_back(runtime_of(load));
    out.type = job;
    out.name = numbered_name("bench-{n}");
    out.object = fmt::format(
        R"({{"apiVersion":"{}","kind":"TrainJob","metadata":{{"name":"bench-{{n}}"}},)"
        R"("spec":{{"runtimeRef":{{"apiGroup":"trainer.kubeflow.org","kind":"TrainingRuntime","name":"{}"}},)"
        R"("trainer":{{"numNodes":{},"command":["torchrun","train.py"]}}}}}})",
        job.api_version, runtime_name, load.nodes);
    out.done = {.type = {"jobset.x-k8s.io/v1alpha2", "JobSet"}, .name = out.name};
    if (ends) out.ends = awaited_state{.type = job, .name = out.name, .conditions = {"Complete", "Failed"}};
    if (completes) out.players.push_back({.type = out.done.type, .status = std::string(completed)});
    out.train_jobs = true;
    return out;
}

base::result<scenario> read_scenario(const std::string& file, const std::vector<std::string>& crds) {
    app::manifests text;
    if (auto done = text.add_path(file, nullptr); !done) return base::fail(std::move(done.error()));
    for (const std::string& each : text.warnings()) return base::fail(base::errc::invalid, each);
    if (text.list().size() != 1) return base::fail(base::errc::invalid, file + ": a scenario is one document");
    const app::manifest& found = text.list().front();
    if (found.document.get("apiVersion").as_string() != scenario_api_version ||
        found.document.get("kind").as_string() != "Scenario")
        return base::fail(base::errc::invalid,
                          fmt::format("{}: expected {}, kind Scenario", found.where, scenario_api_version));
    doc::decoding outcome("");
    reader read(file);
    scenario out = read.read(place(outcome, found.document));
    for (const std::string& each : crds) {
        app::manifests more;
        if (auto done = more.add_path(each, nullptr); !done) return base::fail(std::move(done.error()));
        for (const app::manifest& one : more.list()) out.definitions.push_back(doc::to_json(one.document));
    }
    if (outcome.ok()) return out;
    const std::string why = outcome.fail().error().message;
    return base::fail(base::errc::invalid,
                      fmt::format("{}: {}", app::field_finder().place(found, why.substr(0, why.find(": "))), why));
}

}  // namespace cotrain::bench
