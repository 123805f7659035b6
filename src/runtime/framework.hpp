// Runs the phases over plugins in the order in which they are listed, sorted into phases at compile time.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/compiled_runtime.hpp"
#include "runtime/guards.hpp"
#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/phases.hpp"
#include "runtime/plugin_set.hpp"
#include "runtime/status.hpp"

namespace cotrain::runtime {

template <class T, class P>
consteval std::span<const T> declared_by() {
    if constexpr (std::same_as<T, child> && has_children<P>) return P::children;
    if constexpr (std::same_as<T, event_source> && has_event_sources<P>) return P::event_sources;
    if constexpr (std::same_as<T, permission> && has_permissions<P>) return P::permissions;
    return {};
}

// What all plugins declare of that kind, in their order.
template <class T, class... Plugins>
consteval auto declared_by_all() {
    std::array<T, (declared_by<T, Plugins>().size() + ... + 0)> all{};
    std::size_t size = 0;
    const auto add = [&](std::span<const T> declared) {
        for (const T& each : declared) all[size++] = each;
    };
    (add(declared_by<T, Plugins>()), ...);
    return all;
}

// The snapshot is nobody's but the framework's.
struct framework_itself {
    static constexpr std::array children{child{&api::names::config_map, api::names::snapshot_suffix}};
    static constexpr std::array permissions{permission{&api::names::config_map, "get"}};
};

// A child by its type and suffix alone, which becomes part of names that the API server checks.
consteval bool good_children(std::span<const child> all) {
    for (const child& c : all) {
        if (c.type == nullptr || (!c.suffix.empty() && (c.suffix.front() != '-' || c.suffix.back() == '-')))
            return false;
        for (const char each : c.suffix)
            if (each != '-' && !(each >= 'a' && each <= 'z') && !(each >= '0' && each <= '9')) return false;
        std::size_t same = 0;
        for (const child& other : all) same += same_type(*other.type, *c.type) && other.suffix == c.suffix ? 1U : 0U;
        if (same != 1) return false;
    }
    return true;
}

// The interface of the seeds: RuntimeInfo, NewObjects, TrainJobStatus, ValidateObjects, event sources.
template <plugin... Plugins>
    requires(takes_part<Plugins> && ...) && ((0 + ... + (reports_status<Plugins> ? 1 : 0)) <= 1)
class framework final : public plugin_set {
   public:
    framework() = default;
    explicit framework(Plugins... plugins)
        requires(sizeof...(Plugins) > 0)
        : slots_(slot<Plugins>{std::move(plugins)}...) {}

    // A plugin_maker.
    [[nodiscard]] static base::result<plugins> make(const plugin_options& options) {
        auto made = std::make_shared<framework>();
        if (auto taken = made->take(options); !taken) return base::fail(std::move(taken.error()));
        return made;
    }

    [[nodiscard]] base::result<> take(const plugin_options& options) {
        (close<Plugins>(options), ...);
        (configure<Plugins>(options), ...);
        for (const std::string& name : options.disabled) {
            if ((switch_off<Plugins>(name) || ...)) continue;
            std::string optional;
            (append_optional<Plugins>(optional), ...);
            return base::fail(not_optional(name, optional));
        }
        return {};
    }

    template <plugin P>
    [[nodiscard]] P& get() {
        return std::get<slot<P>>(slots_).plugin;
    }

    [[nodiscard]] base::result<info> runtime_info(doc::arena& memory, const api::train_job& job,
                                                  const compiled_runtime& runtime) const override {
        if (auto ok = check_switched_off(runtime); !ok) return base::fail(std::move(ok.error()));
        auto made = info::make(memory, runtime, job);
        if (!made) return made;
        base::result<> ok = check_names(*made, job.meta.name);
        each([&]<class P>(const P& p) {
            if constexpr (enforces_ml_policy<P>) run<P>(ok, [&] { return p.enforce_ml_policy(*made, job); });
        });
        if (ok) ok = check_pods(*made);
        each([&]<class P>(const P& p) {
            if constexpr (enforces_pod_group_policy<P>) {
                run<P>(ok, [&] { return p.enforce_pod_group_policy(*made, job); });
            }
        });
        each([&]<class P>(const P& p) {
            if constexpr (identifies_pod_network<P>) run<P>(ok, [&] { return p.identify_pod_network(*made, job); });
        });
        if (ok) ok = check_memory(memory);
        if (!ok) return base::fail(std::move(ok.error()));
        return made;
    }

    [[nodiscard]] base::result<object_list> new_objects(doc::arena& memory, const api::train_job& job,
                                                        const compiled_runtime& runtime,
                                                        const observed& seen) const override {
        auto made = runtime_info(memory, job, runtime);
        if (!made) return base::fail(std::move(made.error()));
        object_list out;
        if (auto begun = begin_objects(memory, job, runtime, seen, out); !begun) return base::fail(begun.error());
        base::result<> ok;
        each([&]<class P>(const P& p) {
            if constexpr (syncs_parallelism<P>) run<P>(ok, [&] { return p.sync_parallelism(*made); });
        });
        std::optional<info> there;
        if (const api::job_set* const set = seen.job_set; set != nullptr && set->meta.controlled_by(job.meta.uid)) {
            if (set->spec.is_object()) there = made->with_pods_of(set->spec);
        }
        if (there) {
            each([&]<class P>(const P& p) {
                if constexpr (identifies_pod_network<P>)
                    run<P>(ok, [&] { return p.identify_pod_network(*there, job); });
            });
        }
        each([&]<class P>(const P& p) {
            if constexpr (builds_objects<P>)
                run<P>(ok, [&] { return p.build(there ? *there : *made, job, seen, out); });
            if constexpr (builds_job_set<P>) run<P>(ok, [&] { return p.build_job_set(*made, job, seen, out); });
        });
        keep_immutable(out, children(), seen);
        if (ok) ok = check_memory(memory);
        if (ok) ok = refuse_undeclared(out, children(), job.meta.name);
        if (ok) ok = refuse_oversized(out);
        if (ok) ok = refuse_foreign(out, seen);
        if (!ok) return base::fail(std::move(ok.error()));
        return out;
    }

    [[nodiscard]] verdict validate_objects(doc::arena& memory, const review& r,
                                           const compiled_runtime& runtime) const override {
        verdict out;
        if (auto ok = check_switched_off(runtime); !ok && r.creating()) {
            out.invalid("spec.runtimeRef", r.job.document.get({"spec", "runtimeRef"}), ok.error().message);
        }
        auto made = info::make(memory, runtime, r.job);
        if (!made) {
            out.add({fault::invalid, "spec", "{}", made.error().message});
            return out;
        }
        each([&]<class P>(const P& p) {
            if constexpr (validates_jobs<P>) p.validate(*made, r, out);
        });
        return out;
    }

    void validate_runtime(const api::training_runtime& runtime, doc::ref before, verdict& out) const override {
        (refuse_closed<Plugins>(runtime, before, out), ...);
        each([&]<class P>(const P& p) {
            if constexpr (validates_runtimes<P>) p.validate_runtime(runtime, out);
        });
    }

    [[nodiscard]] status_outcome trainjob_status(const status_input& in) const override {
        return next_status(in, [&](api::train_job_status& status, const api::job_set& children) {
            each([&]<class P>(const P& p) {
                if constexpr (reports_status<P>) p.report_status(status, children, to_seconds(in.now));
            });
        });
    }

    [[nodiscard]] std::vector<std::string> priority_classes(const info& i) const override {
        std::vector<std::string> all;
        each([&]<class P>(const P& p) {
            if constexpr (asks_priority_classes<P>) all.append_range(p.priority_classes(i));
        });
        return all;
    }

    [[nodiscard]] std::span<const child> children() const override { return children_; }
    [[nodiscard]] std::span<const event_source> event_sources() const override { return sources_; }
    [[nodiscard]] std::span<const permission> permissions() const override { return permissions_; }

   private:
    template <class P>
    struct slot {
        P plugin;
        bool on = true;
        bool closed = false;  // its feature gate is
    };

    // Calls f for the plugins that are not switched off, in their order.
    template <class F>
    void each(const F& f) const {
        std::apply([&](const auto&... s) { ((s.on ? f(s.plugin) : void()), ...); }, slots_);
    }

    template <class P>
    void configure(const plugin_options& options) {
        if constexpr (takes_options<P>) get<P>().configure(options);
    }

    template <class P>
    void close(const plugin_options& options) {
        if constexpr (gated_plugin<P>) {
            slot<P>& s = std::get<slot<P>>(slots_);
            s.closed = !std::ranges::contains(options.gates, P::gate);
            s.on = !s.closed;
            if (!s.closed) return;
            drop<child>(children_, declared_by<child, P>());
            drop<event_source>(sources_, declared_by<event_source, P>());
            drop<permission>(permissions_, declared_by<permission, P>());
        }
    }

    template <class T>
    static void drop(std::vector<T>& from, std::span<const T> what) {
        std::erase_if(from, [&](const T& each) { return std::ranges::contains(what, each); });
    }

    template <class P>
    void refuse_closed(const api::training_runtime& runtime, doc::ref before, verdict& out) const {
        if constexpr (gated_plugin<P>) {
            if (std::get<slot<P>>(slots_).closed) refuse_field(P::field, P::gate, runtime, before, out);
        }
    }

    // Whether that is the plugin's name, and it can be switched off.
    template <class P>
    bool switch_off(std::string_view name) {
        if (!optional_plugin<P> || P::name != name) return false;
        std::get<slot<P>>(slots_).on = false;
        return true;
    }

    template <class P>
    static void append_optional(std::string& names) {
        if constexpr (optional_plugin<P>) names.append(names.empty() ? "" : ", ").append(P::name);
    }

    template <class P>
    void check(base::result<>& ok, const compiled_runtime& runtime) const {
        if constexpr (optional_plugin<P>) {
            if (!ok || std::get<slot<P>>(slots_).on || !P::needed_by(runtime)) return;
            ok = base::fail(is_switched_off(P::name));
            if constexpr (gated_plugin<P>) {
                if (std::get<slot<P>>(slots_).closed) ok = base::fail(needs_gate(P::gate));
            }
        }
    }
    [[nodiscard]] base::result<> check_switched_off(const compiled_runtime& runtime) const {
        base::result<> ok;
        (check<Plugins>(ok, runtime), ...);
        return ok;
    }

    // The first failure ends a phase; it says which plugin it came from, if its text does not begin so anyway.
    template <class P, class F>
    static void run(base::result<>& ok, const F& step) {
        if (!ok) return;
        ok = step();
        if (!ok && !ok.error().message.starts_with(P::name)) ok = base::fail(std::move(ok.error()).during(P::name));
    }

    static constexpr auto all_children_ = declared_by_all<child, framework_itself, Plugins...>();
    static constexpr auto all_sources_ = declared_by_all<event_source, Plugins...>();
    static constexpr auto all_permissions_ = declared_by_all<permission, framework_itself, Plugins...>();
    static_assert(good_children(all_children_), "children need a type, and a suffix of their own: '-' and DNS letters");

    std::tuple<slot<Plugins>...> slots_;
    // Without those of plugins whose gate is closed.
    std::vector<child> children_{all_children_.begin(), all_children_.end()};
    std::vector<event_source> sources_{all_sources_.begin(), all_sources_.end()};
    std::vector<permission> permissions_{all_permissions_.begin(), all_permissions_.end()};
};

}  // namespace cotrain::runtime
