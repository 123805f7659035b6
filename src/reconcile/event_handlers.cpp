#include "reconcile/event_handlers.hpp"

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "reconcile/trainjob/children.hpp"

namespace cotrain::reconcile {

namespace {

using watch::kind;

using runtime::event_source;

// Notes that what it stands in ended in an exception.
class exception_mark {
   public:
    explicit exception_mark(bool& thrown) : thrown_(thrown) {}
    ~exception_mark() { thrown_ = thrown_ || std::uncaught_exceptions() > before_; }
    exception_mark(const exception_mark&) = delete;
    exception_mark& operator=(const exception_mark&) = delete;

   private:
    bool& thrown_;
    int before_ = std::uncaught_exceptions();
};

constexpr std::array runtime_kinds{kind::training_runtime, kind::cluster_training_runtime};

}  // namespace

event_handlers::event_handlers(watch::cluster& all, trainjob_reconciler& jobs, queue of_jobs, queue of_runtimes)
    : all_(all), jobs_(jobs), job_queue_(std::move(of_jobs)), runtime_queue_(std::move(of_runtimes)) {
    const auto add = [this](const api::resource_type& type, event_source::wakes whom) {
        wakes_[static_cast<std::size_t>(watch::kind_of(type))] |= 1U << static_cast<unsigned>(whom);
    };
    for (const runtime::child& c : jobs_.plugins().children()) add(*c.type, event_source::wakes::owner);
    for (const event_source& s : jobs_.plugins().event_sources()) add(*s.type, s.whom);
}

// What a start or a relist brings up at once waits behind what just happened.
work event_handlers::urgency(kind of) const {
    return live_[static_cast<std::size_t>(of)] ? work::fresh : work::backlog;
}

void event_handlers::enqueue_dirty(watch::text_id job) {
    jobs_.mark_dirty(job);
    enqueue(job, work::backlog);
}

void event_handlers::missing(kind of) {
    live_[static_cast<std::size_t>(of)] = false;
    gone_[static_cast<std::size_t>(of)] = true;
}

// A kind that comes back, or could not be followed, may be what jobs wait for, up to many minutes apart by now.
void event_handlers::synced(kind of) {
    const exception_mark mark(lost_);
    if (std::exchange(lost_, false) && leads_) enqueue_all_dirty();
    live_[static_cast<std::size_t>(of)] = true;
    const bool gone = std::exchange(gone_[static_cast<std::size_t>(of)], false);
    const bool waited = jobs_.waited_for(of);
    if ((!gone && !waited) || !leads_) return;
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        if (r.troubled && !r.terminal()) enqueue_dirty(r.key);
    });
}

void event_handlers::changed(const watch::object_change& what) {
    const exception_mark mark(lost_);
    if (what.of == kind::train_job && what.object->terminal()) jobs_.forget_end(what.object->key);
    if (!leads_) return;
    switch (what.of) {
        case kind::train_job: return enqueue(what.object->key, urgency(what.of));
        case kind::training_runtime:
        case kind::cluster_training_runtime: return runtime_changed(what);
        default: break;
    }
    if (wakes(what.of, event_source::wakes::owner)) enqueue(what.group_before, urgency(what.of));
    enqueue_others(what.of, *what.object);
    if (wakes(what.of, event_source::wakes::owner)) enqueue_owner(what.of, *what.object);
}

void event_handlers::answered(const watch::object_change& what) {
    const exception_mark mark(lost_);
    if (!leads_ || what.of == kind::train_job) return;
    if (std::ranges::contains(runtime_kinds, what.of)) return wait_is_over(what);
    enqueue_others(what.of, *what.object);
}

// A replica that follows remembers ends as well: the leader may die before it has written them down.
void event_handlers::removed(kind of, const watch::object_record& last) {
    const exception_mark mark(lost_);
    if (of == kind::job_set) jobs_.set_leaves(last);
    if (of == kind::train_job) jobs_.forget_end(last.key);
    if (!leads_ || std::ranges::contains(runtime_kinds, of)) return;
    if (of == kind::train_job) return enqueue(last.key, urgency(of));
    enqueue_others(of, last);
    if (wakes(of, event_source::wakes::owner)) enqueue_owner(of, last);
}

// Jobs besides the owner that the plugins want woken by that kind.
void event_handlers::enqueue_others(kind of, const watch::object_record& object) {
    const auto [ns, name] = watch::split_key(all_.texts().view(object.key));
    if (wakes(of, event_source::wakes::suspended_in_namespace)) suspended_in(ns);
    if (wakes(of, event_source::wakes::suspended_of_runtime_class)) suspended_of_class(name);
}

// One that no TrainJob owns may be in the way of the job after which it is called.
void event_handlers::enqueue_owner(kind of, const watch::object_record& child) {
    if (child.group != watch::no_text) return enqueue(child.group, urgency(of));
    const std::string_view name = all_.texts().view(child.key);
    scratch_ = name;
    const auto is_it = [&](const child_type& c) { return c.of == of && name.ends_with(c.suffix); };
    if (const auto type = std::ranges::find_if(jobs_.children(), is_it); type != jobs_.children().end())
        scratch_.resize(name.size() - type->suffix.size());
    const watch::text_id key = all_.texts().find(scratch_);
    if (key != watch::no_text && all_.store(kind::train_job).find(key)) enqueue(key, urgency(of));
}

// What may change the plan of jobs whose Pods have not been made.
void event_handlers::suspended_in(std::string_view ns) {
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        if (r.suspend && !r.terminal() && watch::split_key(all_.texts().view(r.key)).ns == ns) enqueue_dirty(r.key);
    });
}

void event_handlers::runtime_changed(const watch::object_change& what) {
    if (what.object->held_back) enqueue_runtime(what.of, what.object->key, urgency(what.of));
    wait_is_over(what);
}

// Of jobs that wait for a runtime; those that run have their snapshot.
void event_handlers::wait_is_over(const watch::object_change& what) {
    if ((what.changes & (watch::added | watch::spec_changed)) != 0) jobs_of_runtime(what.of, what.object->key, false);
}

void event_handlers::jobs_of_runtime(kind of, watch::text_id runtime, bool suspended_only) {
    const auto [ns, name] = watch::split_key(all_.texts().view(runtime));
    watch::write_runtime_key(scratch_, watch::info_of(of).of.kind, ns, name);
    std::vector<watch::text_id> found;
    all_.store(kind::train_job)
        .for_each_of(all_.texts().find(scratch_), [&](watch::handle, const watch::object_record& r) {
            if (!r.terminal() && (suspended_only ? r.suspend : r.troubled)) found.push_back(r.key);
        });
    for (const watch::text_id key : found) enqueue_dirty(key);
}

void event_handlers::suspended_of_class(std::string_view runtime_class) {
    for (const kind of : runtime_kinds) {
        const auto& store = all_.store(of);
        store.for_each([&](watch::handle h, const watch::object_record& r) {
            const watch::object_body* const body = store.body(h);
            if (body == nullptr) return;
            watch::object_view view;
            view.spec = body->spec();
            const auto classes = watch::decode_runtime_classes(view);
            if (!classes) return;
            const auto uses = [&](const watch::json_text& c) { return c.is(runtime_class); };
            if (std::ranges::any_of(*classes, uses)) jobs_of_runtime(of, r.key, true);
        });
    }
}

void event_handlers::enqueue_all_dirty() {
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        jobs_.mark_dirty(r.key);
    });
    enqueue_all();
}

void event_handlers::enqueue_all() {
    leads_ = true;
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        enqueue(r.key, work::backlog);
    });
    for (const kind of : runtime_kinds) {
        all_.store(of).for_each([&](watch::handle, const watch::object_record& r) {
            if (r.held_back) enqueue_runtime(of, r.key, work::backlog);
        });
    }
}

}  // namespace cotrain::reconcile
