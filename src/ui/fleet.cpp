#include "ui/fleet.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace cotrain::ui {

namespace {

std::string key_of(std::string_view ns, std::string_view name) {
    std::string out(ns);
    return out.append("/").append(name);
}

std::string_view state_of(const job_facts& job, const set_facts* set) {
    if (!job.state.empty()) return job.state;
    if (job.complete) return "Complete";
    if (job.failed) return "Failed";
    if (job.suspend) return set != nullptr && set->active > 0 ? "Suspending" : "Suspended";
    if (job.troubled) return "Blocked";
    if (set == nullptr || set->suspend) return "Pending";
    if (set->all_up && set->ready > 0) return "Running";
    if (set->restarts > 0) return "Restarting";
    return set->active > 0 || set->ready > 0 ? "Starting" : "Pending";
}

}  // namespace

job_row make_row(std::string_view ns, std::string_view name, const job_facts& job, const set_facts* set) {
    const std::int64_t planned = set != nullptr && set->nodes > 0 ? set->nodes : job.nodes_asked;
    const bool over = job.complete || job.failed;
    return {.id = job.id,
            .ns = std::string(ns),
            .name = std::string(name),
            .runtime = job.runtime,
            .queue = job.queue,
            .state = std::string(state_of(job, set)),
            .message = job.message,
            .created = job.created,
            .started = job.started,
            .ended = job.ended,
            .nodes = job.nodes_desired.value_or(planned),
            .ready = job.nodes_ready.value_or(set != nullptr && !over ? set->ready : 0),
            .restarts = job.restarts.value_or(set != nullptr ? set->restarts : 0),
            .gpus = set != nullptr && set->nodes > 0 ? set->gpus : job.gpus_each * job.nodes_asked};
}

fleet::entry* fleet::open(std::string_view ns, std::string_view name) {
    std::string key = key_of(ns, name);
    if (const auto found = by_key_.find(key); found != by_key_.end()) return &*found->second;
    if (entries_.size() >= jobs_max) {
        full_ = true;
        return nullptr;
    }
    const place at = entries_.emplace(entries_.end());
    at->key = key;
    at->revision = revision_;
    by_key_.emplace(std::move(key), at);
    return &*at;
}

void fleet::forget_row(entry& of) {
    gone_.push_back({++revision_, std::exchange(of.row, {}).id});
    --jobs_;
    if (gone_.size() <= gone_max) return;
    forgotten_ = gone_.front().revision;
    gone_.pop_front();
}

// Its place in the order follows from whether its row became another.
void fleet::refresh(place at) {
    if (!at->job) return;
    const std::size_t slash = at->key.find('/');
    job_row row = make_row(std::string_view(at->key).substr(0, slash), std::string_view(at->key).substr(slash + 1),
                           *at->job, at->set ? &*at->set : nullptr);
    if (row.id.empty()) row.id = at->key;
    row.setMs = at->row.id == row.id ? at->row.setMs : -1;
    if (row == at->row) return;
    if (at->row.id.empty()) ++jobs_;
    // A namesake took its place.
    if (!at->row.id.empty() && at->row.id != row.id) {
        forget_row(*at);
        ++jobs_;
    }
    at->row = std::move(row);
    at->revision = ++revision_;
    entries_.splice(entries_.end(), entries_, at);
}

void fleet::put_job(std::string_view ns, std::string_view name, job_facts facts, moment now) {
    entry* const of = open(ns, name);
    if (of == nullptr) return;
    of->passes[0] = passes_[0];
    if (!of->job && live_[0] && !of->set) of->seen = now;
    of->job = std::move(facts);
    refresh(by_key_.find(of->key)->second);
}

void fleet::put_set(std::string_view ns, std::string_view name, set_facts facts, moment now) {
    entry* const of = open(ns, name);
    if (of == nullptr) return;
    of->passes[1] = passes_[1];
    const bool first = !of->set && of->seen && live_[1];
    of->set = facts;
    const place at = by_key_.find(of->key)->second;
    refresh(at);
    if (!first) return;
    at->row.setMs = std::chrono::duration<double, std::milli>(now - *std::exchange(at->seen, std::nullopt)).count();
    at->revision = ++revision_;
    entries_.splice(entries_.end(), entries_, at);
}

void fleet::drop(place at, part which) {
    if (which == part::set) {
        at->set.reset();
        refresh(at);
    } else if (std::exchange(at->job, std::nullopt)) {
        at->seen.reset();
        forget_row(*at);
    }
    if (at->job || at->set) return;
    by_key_.erase(at->key);
    entries_.erase(at);
}

void fleet::remove(part which, std::string_view ns, std::string_view name) {
    const auto found = by_key_.find(key_of(ns, name));
    if (found != by_key_.end()) drop(found->second, which);
}

void fleet::begin_relist(part which) {
    ++passes_[index(which)];
    live_[index(which)] = false;
    full_ = false;
}

void fleet::end_relist(part which) {
    const std::size_t i = index(which);
    std::vector<place> missed;
    for (place at = entries_.begin(); at != entries_.end(); ++at) {
        const bool has = which == part::job ? at->job.has_value() : at->set.has_value();
        if (has && at->passes[i] != passes_[i]) missed.push_back(at);
    }
    for (const place at : missed) drop(at, which);
    live(which);
}

fleet::changes fleet::since(std::uint64_t revision, std::size_t rows_max) const {
    changes out;
    out.reset = revision == 0 || revision < forgotten_;
    if (out.reset) revision = 0;
    auto at = entries_.end();
    while (at != entries_.begin() && std::prev(at)->revision > revision) --at;
    out.upto = revision_;
    for (; at != entries_.end(); ++at) {
        if (at->row.id.empty()) continue;
        if (out.rows.size() == rows_max) {
            out.more = true;
            out.upto = std::prev(at)->revision;
            break;
        }
        out.rows.push_back(&at->row);
    }
    if (out.reset) return out;
    const auto after = std::ranges::upper_bound(gone_, revision, {}, &goner::revision);
    for (auto each = after; each != gone_.end() && each->revision <= out.upto; ++each) out.gone.push_back(each->id);
    return out;
}

fleet::summary fleet::sum_up(std::size_t rows_max) const {
    summary out;
    std::map<std::string_view, std::uint64_t> counts;
    out.newest.reserve(jobs_);
    for (const entry& each : entries_) {
        if (each.row.id.empty()) continue;
        ++counts[each.row.state];
        out.newest.push_back(&each.row);
    }
    const std::size_t kept = std::min(rows_max, out.newest.size());
    std::ranges::partial_sort(out.newest, out.newest.begin() + static_cast<std::ptrdiff_t>(kept),
                              std::ranges::greater{}, &job_row::created);
    out.newest.resize(kept);
    for (const auto& [state, count] : counts) out.states.push_back({std::string(state), count});
    return out;
}

}  // namespace cotrain::ui
