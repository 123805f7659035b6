// From changes in stores to keys in queues.
#include "reconcile/trainjob_wakes.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace cotrain::reconcile {

namespace {

namespace names = api::names;
using watch::kind;

constexpr std::array suffixes{names::snapshot_suffix,        names::ssh_auth_suffix,   names::hostfile_suffix,
                              names::flux_entrypoint_suffix, names::flux_curve_suffix, names::tls_config_suffix};

bool is_runtime(kind of) { return of == kind::training_runtime || of == kind::cluster_training_runtime; }

}  // namespace

// What a start or a relist brings up at once waits behind what just happened.
work trainjob_wakes::urgency(kind of) const {
    return live_[static_cast<std::size_t>(of)] ? work::fresh : work::backlog;
}

void trainjob_wakes::missing(kind of) {
    live_[static_cast<std::size_t>(of)] = false;
    gone_[static_cast<std::size_t>(of)] = true;
}

// A kind that comes back, or could not be followed, may be what jobs wait for, up to many minutes apart by now.
void trainjob_wakes::synced(kind of) {
    live_[static_cast<std::size_t>(of)] = true;
    const bool gone = std::exchange(gone_[static_cast<std::size_t>(of)], false);
    const bool waited = jobs_.waited_for(of);
    if ((!gone && !waited) || !leads_) return;
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        if (!r.troubled || r.terminal()) return;
        jobs_.reconsider(r.key);
        wake_job_({.name = r.key, .kind = 0}, work::backlog);
    });
}

void trainjob_wakes::job(watch::text_id key, work how) {
    if (key == watch::no_text) return;
    jobs_.stir(key);
    wake_job_({.name = key, .kind = 0}, how);
}

void trainjob_wakes::changed(const watch::object_change& what) {
    if (what.of == kind::train_job && what.object->terminal()) jobs_.forget_end(what.object->key);
    if (!leads_) return;
    switch (what.of) {
        case kind::train_job: return job_changed(what);
        case kind::training_runtime:
        case kind::cluster_training_runtime: return runtime_changed(what);
        case kind::limit_range: return suspended_in(split_key(all_.texts().view(what.object->key)).ns);
        case kind::runtime_class: return suspended_of_class(split_key(all_.texts().view(what.object->key)).name);
        case kind::priority_class: return;  // for reviews alone
        default: break;
    }
    if (what.group_before != watch::no_text) job(what.group_before, urgency(what.of));
    owner_of(what.of, *what.object);
}

// Who follows remembers ends as well: the leader may die before it has written them down.
void trainjob_wakes::removed(kind of, const watch::object_record& last) {
    if (of == kind::job_set) jobs_.set_leaves(last);
    if (of == kind::train_job) jobs_.forget_end(last.key);
    if (!leads_) return;
    if (of == kind::train_job) {
        job(last.key, urgency(of));
    } else if (of == kind::limit_range) {
        suspended_in(split_key(all_.texts().view(last.key)).ns);
    } else if (of == kind::runtime_class) {
        suspended_of_class(split_key(all_.texts().view(last.key)).name);
    } else if (!is_runtime(of) && of != kind::priority_class) {
        owner_of(of, last);
    }
}

// One that nobody of ours controls may be in the way of the TrainJob after which it is called.
void trainjob_wakes::owner_of(kind of, const watch::object_record& child) {
    if (child.group != watch::no_text) return job(child.group, urgency(of));
    const std::string_view name = all_.texts().view(child.key);
    scratch_ = name;
    const auto is_end = [name](std::string_view suffix) { return name.ends_with(suffix); };
    const auto end = std::ranges::find_if(suffixes, is_end);
    const bool is_file = of == kind::config_map || of == kind::secret;
    if (is_file && end != suffixes.end()) scratch_.resize(name.size() - end->size());
    const watch::text_id key = all_.texts().find(scratch_);
    if (key != watch::no_text && all_.store(kind::train_job).find(key)) job(key, urgency(of));
}

// A finished job's record holds too little to see what was changed: both bits are set then.
void trainjob_wakes::job_changed(const watch::object_change& what) {
    constexpr unsigned both = watch::spec_changed | watch::status_changed;
    const bool edited = (what.changes & both) == both && (what.changes & watch::added) == 0;
    if (edited && what.object->collapsed) jobs_.stir(what.object->key, true);
    job(what.object->key, urgency(what.of));
}

void trainjob_wakes::runtime_changed(const watch::object_change& what) {
    if (what.object->held_back) {
        wake_runtime_({.name = what.object->key, .kind = static_cast<std::uint32_t>(what.of)}, urgency(what.of));
    }
    // Those that wait for it; jobs that run have their snapshot.
    if ((what.changes & (watch::added | watch::spec_changed)) != 0) jobs_of_runtime(what.of, what.object->key, false);
}

void trainjob_wakes::jobs_of_runtime(kind of, watch::text_id runtime, bool suspended_only) {
    const auto [ns, name] = split_key(all_.texts().view(runtime));
    watch::write_runtime_key(scratch_, watch::info_of(of).of.kind, ns, name);
    std::vector<watch::text_id> found;
    all_.store(kind::train_job)
        .for_each_of(all_.texts().find(scratch_), [&](watch::handle, const watch::object_record& r) {
            if (!r.terminal() && (suspended_only ? r.suspend : r.troubled)) found.push_back(r.key);
        });
    for (const watch::text_id key : found) {
        jobs_.reconsider(key);
        wake_job_({.name = key, .kind = 0}, work::backlog);
    }
}

void trainjob_wakes::suspended_in(std::string_view ns) {
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        if (!r.suspend || r.terminal() || split_key(all_.texts().view(r.key)).ns != ns) return;
        jobs_.reconsider(r.key);
        wake_job_({.name = r.key, .kind = 0}, work::backlog);
    });
}

void trainjob_wakes::suspended_of_class(std::string_view runtime_class) {
    for (const kind of : {kind::training_runtime, kind::cluster_training_runtime}) {
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

void trainjob_wakes::wake_all() {
    leads_ = true;
    all_.store(kind::train_job).for_each([&](watch::handle, const watch::object_record& r) {
        wake_job_({.name = r.key, .kind = 0}, work::backlog);
    });
    for (const kind of : {kind::training_runtime, kind::cluster_training_runtime}) {
        all_.store(of).for_each([&](watch::handle, const watch::object_record& r) {
            if (!r.held_back) return;
            wake_runtime_({.name = r.key, .kind = static_cast<std::uint32_t>(of)}, work::backlog);
        });
    }
}

}  // namespace cotrain::reconcile
