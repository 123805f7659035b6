// Field ownership of the embedded API server against the real one: the same random writes, the same objects, owners,
// refusals and conflicts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "crd/crd.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "integration/control.hpp"
#include "integration/sim_apply_random.hpp"
#include "kube/client.hpp"
#include "kube/status.hpp"
#include "sim/cluster.hpp"
#include "support/run.hpp"

namespace cotrain::kube {
namespace {

constexpr resource config_maps{"", "v1", "configmaps", "ConfigMap", true};
constexpr resource train_jobs{"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob", true};
constexpr resource job_sets{"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true};
constexpr resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition",
                               false};
constexpr resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr int questions_max = 2000;  // until a definition is served
constexpr int steps_each = 24;

using fill_object = void (test::random_writes::*)(doc::editor&);

struct scenario {
    resource of;
    std::string ns;
    fill_object fill;
    fill_object fill_status;  // null: there is none
    std::uint64_t seeds;
};

// What one side said, made comparable: what is its own (versions, times, uids) is left out.
struct said {
    int code = 0;
    std::string object;              // sorted JSON
    std::string owners;              // managedFields without times
    std::vector<std::string> words;  // of the message of a conflict, sorted: managers and paths come in any order
    std::string message;             // to be shown

    bool operator==(const said& o) const {
        return code == o.code && object == o.object && owners == o.owners && words == o.words;
    }
};

std::string show(const said& s) {
    return std::to_string(s.code) + " " + s.message + "\n  " + s.object + "\n  " + s.owners;
}

said read_refusal(const base::error& error) {
    said out{.code = error.http_status, .message = error.message};
    const std::size_t conflict = out.message.find("Apply failed with");
    // Of other refusals the wording may differ; of long ones the end is cut off. Causes follow after a semicolon, only
    // some of them.
    if (conflict == std::string::npos || out.message.find("…") != std::string::npos) return out;
    std::istringstream text(out.message.substr(conflict, out.message.find("; ", conflict) - conflict));
    for (std::string word; text >> word;) out.words.push_back(word);
    std::ranges::sort(out.words);
    return out;
}

said read_object(doc::arena& memory, int code, std::string_view body) {
    said out{.code = code};
    const auto read = doc::parse_json_copy(memory, body);
    if (!read) return {.code = -1, .message = read.error().message};
    doc::editor object = doc::editor::of(memory, *read);
    doc::editor metadata = object.child("metadata");
    std::vector<std::string> entries;
    for (const doc::ref each : metadata.get("managedFields").items()) {
        doc::editor entry = doc::editor::of(memory, each);
        entry.remove("time");
        std::string text;
        doc::append_sorted_json(text, entry);
        entries.push_back(std::move(text));
    }
    std::ranges::sort(entries);
    for (const std::string& each : entries) out.owners += each + "\n  ";
    for (const char* own : {"managedFields", "uid", "resourceVersion", "creationTimestamp"}) metadata.remove(own);
    doc::append_sorted_json(out.object, object);
    return out;
}

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<client> real;
    sim::cluster embedded{7};
    doc::arena memory;
    int accepted = 0, conflicts = 0, refused = 0;

    scene() {
        auto made =
            client::make(loop.get_executor(), test::real_cluster(), {.retry = {.failing_max = 0}}, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        real = std::move(*made);
    }

    static base::seconds_time now() { return std::chrono::sys_days{std::chrono::year{2026} / 1 / 2}; }

    sim::target at(const scenario& of, const std::string& name, bool status) {
        const sim::kind* const kind = embedded.types().find(of.of.group, of.of.version, of.of.plural);
        if (kind == nullptr) throw std::logic_error(std::string{of.of.plural} + " is no kind of the embedded server");
        return {kind, of.ns, name, status};
    }

    said ask_embedded(const scenario& of, const std::string& name, const test::write_step& step) {
        doc::arena local;
        const auto body = doc::parse_json(local, step.body);
        const sim::target where = at(of, name, step.status);
        const sim::write_options with{.manager = step.manager, .force = step.force};
        using test::write_verb;
        sim::outcome<sim::written> done;
        switch (step.verb) {
            case write_verb::apply: done = embedded.patch(where, sim::patch_type::apply, *body, with, now()); break;
            case write_verb::update: done = embedded.update(where, *body, with, now()); break;
            case write_verb::merge: done = embedded.patch(where, sim::patch_type::merge, *body, with, now()); break;
            case write_verb::json: done = embedded.patch(where, sim::patch_type::json, *body, with, now()); break;
            case write_verb::strategic:
                done = embedded.patch(where, sim::patch_type::strategic, *body, with, now());
                break;
        }
        if (!done) return read_refusal(status_error("", done.error().code, {}, sim::to_status(done.error())));
        return read_object(memory, done->created ? 201 : 200, done->json);
    }

    awaitable<said> ask_real(const scenario* of, std::string name, test::write_step step);
};

awaitable<said> scene::ask_real(const scenario* of, std::string name, test::write_step step) {
    const write_options with{.field_manager = step.manager, .sub_resource = step.status ? "status" : ""};
    const location where{.ns = of->ns, .name = name};
    base::result<call> what;
    switch (step.verb) {
        case test::write_verb::apply: what = build_apply(of->of, where, step.body, step.force, with); break;
        case test::write_verb::update: what = build_update(of->of, where, step.body, with); break;
        case test::write_verb::json: what = build_json_patch(of->of, where, step.body, with); break;
        default: what = build_merge_patch(of->of, where, step.body, with); break;
    }
    if (step.verb == test::write_verb::strategic) {
        for (auto& header : what->http.headers) {
            if (header.name == "content-type") header.value = "application/strategic-merge-patch+json";
        }
    }
    const auto done = co_await real->perform(std::move(*what));
    if (!done) co_return read_refusal(done.error());
    co_return read_object(memory, done->status, done->body);
}

// One random write; updates and JSON patches start from what the embedded server has (both have the same).
test::write_step random_step(scene& s, test::random_writes& random, const scenario& of, const std::string& name) {
    test::write_step step;
    step.status = of.fill_status != nullptr && random.one_in(4);
    step.manager = random.word("manager-", 3);
    step.force = random.one_in(3);
    const sim::record_ptr live = s.embedded.objects().find(*s.at(of, name, false).of, of.ns, name);
    const auto choice = random.below(8);
    step.verb = !live || choice < 4                       ? test::write_verb::apply
                : choice < 6                              ? test::write_verb::update
                : choice == 6                             ? test::write_verb::merge
                : of.of.group.empty() && random.one_in(2) ? test::write_verb::strategic
                                                          : test::write_verb::json;
    doc::editor object = doc::editor::object(s.memory);
    if (step.verb == test::write_verb::json) {
        doc::editor list = doc::editor::array(s.memory);
        list.append_object()
            .set("op", "add")
            .set("path", "/metadata/annotations")
            .set("value", doc::ref::empty_object());
        list.append_object()
            .set("op", "add")
            .set("path", "/metadata/annotations/" + random.word("k", 4))
            .set("value", random.word("v", 3));
        step.status = false;
        step.body = doc::to_json(list);
        return step;
    }
    if (step.verb != test::write_verb::strategic && step.verb != test::write_verb::merge) {
        object.set("apiVersion", of.of.group.empty() ? std::string{of.of.version}
                                                     : std::string{of.of.group} + "/" + std::string{of.of.version});
        object.set("kind", of.of.kind);
        object.ensure_object("metadata").set("name", name);
    }
    if (step.verb == test::write_verb::strategic) {
        // How lists are ordered is the business of the merge test.
        random.texts(object.ensure_object("data"), 2);
        random.texts(object.ensure_object({"metadata", "labels"}), 2);
        step.body = doc::to_json(object);
        return step;
    }
    (random.*(step.status ? of.fill_status : of.fill))(object);
    // Before 1.36 Kubernetes forgets who owns labels and annotations that the update of a status leaves out.
    const bool complete = step.status && test::server_before(36);
    if (step.verb == test::write_verb::update && (random.one_in(2) || complete)) {
        // Most clients change a little of what is there.
        const doc::ref there = *doc::parse_json_copy(s.memory, live->json);
        doc::editor changed = doc::editor::of(s.memory, there);
        changed.child("metadata").remove("resourceVersion");
        changed.child("metadata").remove("uid");
        for (const doc::member& m : object.view().members()) {
            if (m.key() != "metadata" && random.one_in(2)) changed.set(m.key(), m.value);
        }
        object = changed;
    }
    step.body = doc::to_json(object);
    return step;
}

// Custom resources are updated only at a version, and each server has its own.
awaitable<std::string> at_version(scene* s, const scenario* of, std::string name, std::string body) {
    const auto found = co_await s->real->get(of->of, {.ns = of->ns, .name = name});
    if (!found) co_return body;
    const auto live = doc::parse_json_copy(s->memory, found->body);
    const auto sent = doc::parse_json_copy(s->memory, body);
    doc::editor out = doc::editor::of(s->memory, *sent);
    out.ensure_object("metadata").set("resourceVersion", live->get({"metadata", "resourceVersion"}));
    co_return doc::to_json(out);
}

std::string at_own_version(scene* s, const scenario& of, const std::string& name, const std::string& body) {
    const sim::record_ptr live = s->embedded.objects().find(*s->at(of, name, false).of, of.ns, name);
    if (!live) return body;
    const auto sent = doc::parse_json_copy(s->memory, body);
    doc::editor out = doc::editor::of(s->memory, *sent);
    out.ensure_object("metadata").set("resourceVersion", std::to_string(live->version));
    return doc::to_json(out);
}

// Other tests must not find what is left here.
awaitable<void> clear(scene* s, const scenario* of, std::string name) {
    (void)co_await s->real->merge_patch(of->of, {.ns = of->ns, .name = name}, R"({"metadata":{"finalizers":null}})");
    const auto gone = co_await s->real->remove(of->of, {.ns = of->ns, .name = name});
    EXPECT_TRUE(gone.has_value() || gone.error().http_status == 404) << gone.error().message;
}

awaitable<void> play(scene* s, const scenario* of) {
    for (std::uint64_t seed = 0; seed < of->seeds && !testing::Test::HasFailure(); ++seed) {
        const std::string name = "o" + std::to_string(seed);
        test::random_writes random(s->memory, seed);
        std::string story;
        for (int i = 0; i < steps_each && !testing::Test::HasFailure(); ++i) {
            test::write_step step = random_step(*s, random, *of, name);
            test::write_step theirs_step = step;
            if (step.verb == test::write_verb::update) {
                theirs_step.body = co_await at_version(s, of, name, step.body);
                step.body = at_own_version(s, *of, name, step.body);
            }
            story += "\n" + std::to_string(static_cast<int>(step.verb)) + (step.force ? "!" : " ") +
                     (step.status ? "status " : "") + step.manager + " " + step.body;
            const said theirs = co_await s->ask_real(of, name, theirs_step);
            const said ours = s->ask_embedded(*of, name, step);
            EXPECT_TRUE(theirs == ours) << "seed " << seed << " after" << story << "\nserver " << show(theirs)
                                        << "\nours " << show(ours);
            ++(theirs.code < 300 ? s->accepted : theirs.code == 409 ? s->conflicts : s->refused);
        }
        co_await clear(s, of, name);
    }
}

awaitable<void> define(scene* s, resource of, doc::ref crd) {
    const std::string name{crd.get({"metadata", "name"}).as_string()};
    EXPECT_TRUE(s->embedded.types().define(crd).has_value());
    const auto applied =
        co_await s->real->apply(definitions, {.name = name}, doc::to_json(crd), true, {.field_manager = "test"});
    EXPECT_TRUE(applied.has_value()) << (applied ? "" : applied.error().message);
    for (int i = 0; applied && i < questions_max; ++i) {
        if (co_await s->real->list(of, "", {.limit = 1})) co_return;
    }
    ADD_FAILURE() << name << " is not served";
}

awaitable<void> with_namespace(scene* s, const scenario* of, doc::ref crd) {
    if (crd) co_await define(s, of->of, crd);
    const std::string text = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + of->ns + "\"}}";
    const auto document = doc::parse_json_copy(s->memory, text);
    const sim::kind* const space = s->embedded.types().find("", "v1", "namespaces");
    EXPECT_TRUE(s->embedded.create({space, "", ""}, *document, {}, scene::now()).has_value());
    const auto created = co_await s->real->create(namespaces, "", text);
    EXPECT_TRUE(created.has_value()) << created.error().message;
    if (!testing::Test::HasFailure()) co_await play(s, of);
    EXPECT_TRUE((co_await s->real->remove(namespaces, {.name = of->ns})).has_value());
    co_await s->real->stop();
}

void compare(const scenario& of, doc::ref crd) {
    scene s;
    test::run(s.loop, with_namespace(&s, &of, crd));
    // Otherwise little was compared.
    EXPECT_GT(s.accepted, s.refused) << s.accepted << " accepted, " << s.refused << " refused";
    EXPECT_GT(s.conflicts, 0);
}

std::string read_file(const std::string& path) {
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << path << " cannot be read";
    return text.str();
}

TEST(sim_apply, agrees_with_the_api_server_on_config_maps) {
    doc::arena memory;
    compare({config_maps, "sim-configmaps", &test::random_writes::config_map, nullptr, 12}, {});
}

TEST(sim_apply, agrees_with_the_api_server_on_train_jobs) {
    doc::arena memory;
    for (const crd::definition& each : crd::definitions()) {
        if (each.resource.kind != "TrainJob") continue;
        compare(
            {train_jobs, "sim-trainjobs", &test::random_writes::train_job, &test::random_writes::train_job_status, 12},
            crd::make_crd(memory, each));
    }
}

TEST(sim_apply, agrees_with_the_api_server_on_job_sets) {
    doc::arena memory;
    const std::string text = read_file(test::test_variable("COTRAIN_TEST_CRDS") + "/jobset.yaml");
    const auto crd = doc::parse_yaml(memory, text);
    ASSERT_TRUE(crd.has_value());
    compare({job_sets, "sim-jobsets", &test::random_writes::job_set, nullptr, 8}, *crd);
}

}  // namespace
}  // namespace cotrain::kube
