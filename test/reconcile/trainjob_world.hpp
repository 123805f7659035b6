// An API server in memory for reconciler tests: applies and patches change objects, events come when the test says so.
#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "plugins/builtin.hpp"
#include "plugins/keys.hpp"
#include "reconcile/controller_core.hpp"
#include "reconcile/event_handlers.hpp"
#include "reconcile/runtime_reconciler.hpp"
#include "reconcile/trainjob/reconciler.hpp"
#include "support/run.hpp"
#include "trainjob_objects.hpp"

namespace cotrain::reconcile {

class trainjob_world final : public remote {
   public:
    // `runtimes`: what specs of TrainingRuntimes may take; by default whatever there is.
    explicit trainjob_world(std::optional<watch::spec_bounds> runtimes = {}) {
        for (auto& s : stores_) s = std::make_unique<watch::object_store>(texts);
        if (runtimes)
            stores_[static_cast<std::size_t>(watch::kind::training_runtime)] =
                std::make_unique<watch::object_store>(texts, *runtimes);
        watch::cluster::stores all{};
        for (std::size_t i = 0; i < watch::kinds; ++i) all[i] = stores_[i].get();
        known = std::make_unique<watch::cluster>(texts, all, base::null_logger(), file_suffixes(plugins::builtin()));
        known->follow([this](watch::kind k, std::string_view) { return seen_[static_cast<std::size_t>(k)]; },
                      [this](watch::kind k, std::string_view) { return doubts[static_cast<std::size_t>(k)]; },
                      [this](watch::kind, std::string_view) { return follows; });
        known->on_answer([this](const watch::object_change& what) { waker->answered(what); });
        restart();
        wakes = std::make_unique<relay>(*this);
        for (const watch::kind k : watch::all_kinds()) {
            intakes_.push_back(std::make_unique<watch::intake>(k, known->store(k), texts, *wakes, base::null_logger(),
                                                               "", file_suffixes(plugins::builtin())));
        }
    }

    // A new process over the same cluster: nothing is remembered.
    void restart(bool lead = true) {
        trainjob_options with{.wall = [this] { return now; },
                              .steady = [this] { return moment(now.time_since_epoch()); },
                              .make_ssh_key = [] { return plugins::make_ssh_key(plugins::system_bytes()); },
                              .make_curve_key = [] { return plugins::make_curve_key(plugins::system_bytes()); },
                              .record = [this](const event_note& e) { events.push_back(e.reason + ": " + e.note); }};
        if (tune) tune(with);
        // Of an operator whose other gates are closed.
        auto all = plugins::builtin::make({.elastic = with.elastic}).value();
        reconciler = std::make_unique<trainjob_reconciler>(*known, *this, std::move(all), std::move(with), *log);
        waker = std::make_unique<event_handlers>(
            *known, *reconciler, [this](key k, work) { queue.push_back(k); }, [](key, work) {});
        for (const watch::kind k : watch::all_kinds()) waker->synced(k);
        // What no watch tells, only the one knows who asked for it.
        auto& secrets = known->store(watch::kind::secret);
        secrets.begin_relist();
        secrets.sweep([](const watch::object_record&) {});
        leads = lead;
        if (lead) waker->enqueue_all();
        queue.clear();
    }

    // What users and other controllers do.
    void apply_yaml(std::string_view yaml) {
        doc::arena memory;
        const std::string text(yaml);
        const auto document = doc::parse_yaml(memory, text);
        if (!document) throw std::runtime_error(document.error().message);
        put(*document);
    }
    void patch(const std::string& label, std::string_view json) {
        doc::arena memory;
        const auto change = doc::parse_json_copy(memory, json);
        const auto before = doc::parse_json(memory, objects.at(label));
        put(merged(memory, *before, *change));
    }
    void erase(const std::string& label) {
        const std::string before = objects.at(label);
        objects.erase(label);
        pending_.push_back({label, with_version(before), true});
    }
    // Its events are lost on the way.
    void hold_back(const std::string& label) {
        std::erase_if(pending_, [&label](const event& e) { return e.label == label; });
    }
    // Events of one object reach its store before others.
    void deliver(const std::string& label) {
        std::ranges::stable_partition(pending_, [&](const event& e) { return e.label == label; });
        deliver(static_cast<std::size_t>(std::ranges::count(pending_, label, &event::label)));
    }
    // Events reach the stores.
    void deliver(std::size_t most = ~std::size_t{0}) {
        for (; !pending_.empty() && most > 0; --most) {
            const auto [label, text, gone] = std::move(pending_.front());
            pending_.pop_front();
            if (!watch::info_of(kind_of_label(label)).watched) continue;
            watch::object_view view;
            watch::intake& in = *intakes_[static_cast<std::size_t>(kind_of_label(label))];
            if (!watch::decode_object(text, view, in.parts())) throw std::runtime_error("not decoded: " + text);
            seen_[static_cast<std::size_t>(kind_of_label(label))] = version_of(text);
            gone ? in.remove(view) : in.upsert(view);
        }
    }
    // Delivers, and reconciles what was woken, until nothing moves. Failures are not repeated.
    void settle() {
        for (int i = 0; i < 50; ++i) {
            deliver();
            if (queue.empty()) return;
            const key k = queue.front();
            queue.pop_front();
            std::erase(queue, k);
            last = run_once(k, 9);
            if (last.kind == outcome::what::again_after && last.after.count() <= 0) queue.push_front(k);
        }
        throw std::runtime_error("the reconciler does not come to rest");
    }
    outcome run_once(key k, unsigned failures = 0) {
        asio::io_context loop;
        return test::run(loop, reconciler->reconcile(k, {.failures = failures}));
    }
    outcome run_job(std::string_view name = "ns/job", unsigned failures = 0) {
        return run_once({.name = texts.find(name), .kind = 0}, failures);
    }

    // Nothing is left to do until the job is looked into, whose Pods never come here.
    [[nodiscard]] static bool rests(const outcome& o) {
        return o.kind == outcome::what::done ||
               (o.kind == outcome::what::again_after && o.after.count() > 0 && o.after <= look_after);
    }

    [[nodiscard]] doc::ref object(doc::arena& memory, const std::string& label) const {
        const auto found = objects.find(label);
        return found == objects.end() ? doc::ref{} : *doc::parse_json(memory, found->second);
    }
    // "True" of the TrainJob's condition; "-" without one.
    [[nodiscard]] std::string condition(std::string_view type, std::string_view member = "status") const {
        doc::arena memory;
        const auto job = object(memory, "TrainJob ns/job");
        const auto c = job.get({"status", "conditions"}).find_by("type", type);
        return std::string(c.get(member).as_string("-"));
    }

    [[nodiscard]] bool leading() const override { return leads; }
    awaitable<base::result<std::string>> get(target at) override {
        const wait here(*this);
        requests.push_back("get " + label_of(at));
        if (const auto e = refusals.find(requests.back()); e != refusals.end()) co_return base::fail(e->second);
        if (on_get) std::exchange(on_get, nullptr)();
        const auto found = objects.find(label_of(at));
        if (found == objects.end()) co_return refused(404);
        const std::string answer = found->second;
        if (on_got) on_got(label_of(at));
        co_return answer;
    }
    awaitable<base::result<std::string>> get_whole(target at) override {
        const wait here(*this);
        requests.push_back("read " + label_of(at));
        const auto found = objects.find(label_of(at));
        if (found == objects.end()) co_return refused(404);
        co_return found->second;
    }
    awaitable<base::result<std::string>> list(list_page what) override {
        const wait here(*this);
        const std::string label = "list " + std::string(what.type->plural) + " " + what.ns + " " + what.label_selector +
                                  "&" + what.field_selector + "&" + std::to_string(what.items_max);
        requests.push_back(label);
        if (const auto e = refusals.find("list " + std::string(what.type->plural)); e != refusals.end())
            co_return base::fail(e->second);
        co_return on_list ? on_list(what) : std::string();
    }
    // With the API server's preconditions.
    awaitable<base::result<std::string>> apply(target at, std::string body, std::string uid) override {
        const wait here(*this);
        if (on_apply) on_apply();
        requests.push_back("apply " + label_of(at));
        if (const auto e = refusals.find(requests.back()); e != refusals.end()) co_return base::fail(e->second);
        doc::arena memory;
        const auto wanted = doc::parse_json(memory, body);
        doc::editor out = doc::editor::of(memory, *wanted);
        const auto before = objects.find(label_of(at));
        if (at.manager == api::names::scale_field_manager) {
            if (before == objects.end()) co_return refused(409);
            if (!scales) co_return immutable();
            put(with_counts_of(memory, *doc::parse_json(memory, before->second), *wanted));
            co_return objects.at(label_of(at));
        }
        if (before == objects.end() ? !uid.empty() : uid.empty()) co_return refused(409);
        if (before != objects.end()) {
            const auto old = doc::parse_json(memory, before->second);
            if (uid != old->get({"metadata", "uid"}).as_string()) {
                auto other = refused(422).error();
                other.message = "metadata.uid: Invalid value: \"" + uid + "\": field is immutable";
                co_return base::fail(std::move(other));
            }
            if (keeps_templates && at.type == &api::names::job_set) {
                if (!is_part(fixed_jobs(memory, out.get("spec")), fixed_jobs(memory, old->get("spec"))))
                    co_return immutable();
                doc::editor spec = doc::editor::of(memory, doc::deep_copy(memory, old->get("spec")));
                spec.set("suspend", out.get({"spec", "suspend"}).as_bool(false));
                out.set("spec", spec);
            }
            if (const doc::ref status = old->get("status")) out.set("status", status);
            out.ensure_object("metadata").set("uid", old->get({"metadata", "uid"}));
        }
        put(out);
        co_return objects.at(label_of(at));
    }
    awaitable<base::result<std::string>> merge_patch(target at, std::string sub_resource, std::string body) override {
        const wait here(*this);
        requests.push_back("patch " + label_of(at) + (sub_resource.empty() ? "" : "/" + sub_resource));
        if (const auto e = refusals.find("patch " + label_of(at)); e != refusals.end()) co_return base::fail(e->second);
        if (!objects.contains(label_of(at))) co_return refused(404);
        if (on_patch) on_patch();
        if (names_another_version(body, objects.at(label_of(at)))) co_return refused(409);
        patch(label_of(at), body);
        co_return objects.at(label_of(at));
    }
    using remote::remove;
    awaitable<base::result<>> remove(target at, std::string, std::uint64_t version) override {
        const wait here(*this);
        requests.push_back("delete " + label_of(at));
        if (const auto e = refusals.find(requests.back()); e != refusals.end()) co_return base::fail(e->second);
        if (on_remove) std::exchange(on_remove, nullptr)();
        const auto found = objects.find(label_of(at));
        if (found != objects.end() && version != 0 && version != version_of(found->second)) co_return refused(409);
        if (found != objects.end()) erase(label_of(at));
        co_return base::result<>{};
    }

    // What was asked of the server since the last time.
    std::vector<std::string> taken() { return std::exchange(requests, {}); }

    watch::text_table texts;
    std::unique_ptr<watch::cluster> known;
    std::unique_ptr<trainjob_reconciler> reconciler;
    std::unique_ptr<event_handlers> waker;
    std::map<std::string, std::string> objects;  // "JobSet ns/job" → JSON
    std::vector<std::string> requests;
    std::vector<std::string> events;
    std::deque<key> queue;
    std::map<std::string, base::error> refusals;   // by request
    std::array<std::string, watch::kinds> doubts;  // why a kind's store is not to be relied upon
    bool follows = true;                           // what changes comes in
    // Before each request reaches the objects, and again before its answer is there.
    std::function<void()> on_wait;
    outcome last;
    std::function<std::string(const list_page&)> on_list;
    std::function<void()> on_get;                    // once
    std::function<void(const std::string&)> on_got;  // the answer is on its way, and not yet there
    std::function<void()> on_apply;
    std::function<void()> on_patch;
    std::function<void()> on_remove;              // once
    base::logger* log = &base::null_logger();     // likewise
    std::function<void(trainjob_options&)> tune;  // before a restart
    bool leads = true;
    bool keeps_templates = false;  // as JobSet's webhook does
    bool scales = true;            // as it does with gate ElasticJobSet
    base::micros_time now = std::chrono::sys_days{std::chrono::year{2026} / 1 / 1};

   private:
    struct wait {
        explicit wait(trainjob_world& w) : world(w) { look(); }
        ~wait() { look(); }
        wait(const wait&) = delete;
        wait& operator=(const wait&) = delete;
        void look() const {
            if (world.on_wait) world.on_wait();
        }
        trainjob_world& world;
    };
    struct event {
        std::string label;
        std::string text;
        bool gone = false;
    };
    struct relay final : watch::listener {
        explicit relay(trainjob_world& w) : world(w) {}
        void changed(const watch::object_change& what) override { world.waker->changed(what); }
        void removed(watch::kind of, const watch::object_record& r) override { world.waker->removed(of, r); }
        void synced(watch::kind) override {}
        void missing(watch::kind) override {}
        trainjob_world& world;
    };
    std::string with_version(const std::string& text) {
        doc::arena memory;
        doc::editor out = doc::editor::of(memory, *doc::parse_json(memory, text));
        out.ensure_object("metadata").set("resourceVersion", std::to_string(++version_));
        return doc::to_json(out);
    }
    // Stores an object as the server would; unchanged ones keep their version.
    void put(doc::ref document) {
        doc::arena memory;
        doc::editor out = doc::editor::of(memory, doc::deep_copy(memory, document));
        doc::editor meta = out.ensure_object("metadata");
        const std::string label = label_of(out);
        const auto before = objects.find(label);
        meta.set_default("uid", uid());
        meta.set_default("creationTimestamp", base::format_time(std::chrono::floor<std::chrono::seconds>(now)));
        if (before != objects.end()) {
            const auto old = doc::parse_json(memory, before->second);
            meta.set("creationTimestamp", old->get({"metadata", "creationTimestamp"}));
            meta.set("resourceVersion", old->get({"metadata", "resourceVersion"}));
            if (equal(*old, out)) return;
        }
        objects[label] = with_version(doc::to_json(out));
        pending_.push_back({label, objects[label]});
    }
    std::string uid() {
        char text[40];
        std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012d", ++uids_);
        return text;
    }

    std::array<std::unique_ptr<watch::object_store>, watch::kinds> stores_;
    std::vector<std::unique_ptr<watch::intake>> intakes_;
    std::unique_ptr<relay> wakes;
    std::deque<event> pending_;
    std::array<std::uint64_t, watch::kinds> seen_{};
    std::uint64_t version_ = 100;
    int uids_ = 0;
};

}  // namespace cotrain::reconcile
