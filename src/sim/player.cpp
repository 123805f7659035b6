// When what happens to a JobSet.
#include "sim/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <stdexcept>

namespace cotrain::sim {
namespace {

std::optional<std::chrono::milliseconds> read_time(std::string_view text) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const std::string_view unit{end, static_cast<std::size_t>(text.data() + text.size() - end)};
    constexpr std::int64_t seconds_max = 30L * 24 * 3600;
    if (error != std::errc{} || value < 0 || value > seconds_max) return std::nullopt;
    if (unit == "ms") return std::chrono::milliseconds{value};
    if (unit == "s") return std::chrono::seconds{value};
    if (unit == "m" && value <= seconds_max / 60) return std::chrono::minutes{value};
    return std::nullopt;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t from = text.find_first_not_of(" \t\n");
    if (from == std::string_view::npos) return {};
    return text.substr(from, text.find_last_not_of(" \t\n") - from + 1);
}

bool has_ended(api::ref job_set) {
    return std::ranges::any_of(job_set.get({"status", "conditions"}).items(), [](api::ref each) {
        const std::string_view type = each.get("type").as_string();
        return (type == "Completed" || type == "Failed") && each.get("status").as_string() == "True";
    });
}

}  // namespace

base::result<player_script> read_script(std::string_view text, const player_script& defaults) {
    player_script out = defaults;
    using ending = player_script::ending;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view phrase = trimmed(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t gap = phrase.find(' ');
        const std::string_view word = phrase.substr(0, gap);
        if (phrase.empty()) continue;
        if (word == "start" || word == "ready" || word == "run") {
            const auto value = gap == std::string_view::npos ? std::nullopt : read_time(trimmed(phrase.substr(gap)));
            if (!value)
                return base::fail(base::errc::invalid,
                                  fmt::format("script: behind '{}' comes a time such as 500ms, 3s or 2m", word));
            (word == "start" ? out.start : word == "ready" ? out.ready : out.run) = *value;
        } else if (phrase == "succeed" || phrase == "fail" || phrase == "never") {
            out.end = phrase == "succeed" ? ending::succeed : phrase == "fail" ? ending::fail : ending::never;
        } else if (phrase == "pods" || phrase == "no-pods") {
            out.pods = phrase == "pods";
        } else {
            return base::fail(base::errc::invalid,
                              fmt::format("script: '{}' is unknown; there are start, ready, run with a time, and "
                                          "succeed, fail, never, pods, no-pods",
                                          phrase));
        }
    }
    return out;
}

player::player(cluster& of, player_script script, std::uint64_t seed)
    : cluster_(of), script_(script), random_(seed), job_sets_(type("jobset.x-k8s.io", "v1alpha2", "jobsets")) {
    if (job_sets_ == nullptr) throw std::logic_error("a player needs a cluster that knows JobSets");
}

std::optional<player::time> player::due() const {
    return steps_.empty() ? std::nullopt : std::optional{steps_.top().at};
}

bool player::act(time now, api::seconds_time wall) {
    wall_ = wall;
    wrote_ = false;
    const store& objects = cluster_.objects();
    if (seen_ < objects.compacted()) {
        const std::uint64_t version = objects.version();
        for (const record_ptr& each : objects.list(*job_sets_, {.version = version})) take(*each, now);
        seen_ = version;
    }
    int left = act_items_max;
    while (const change* const next = left > 0 ? objects.next(seen_) : nullptr) {
        --left;
        seen_ = next->version;
        // A copy: writes add to the history and may drop this one.
        if (next->of == job_sets_) notice(change{*next}, now);
    }
    for (left = act_items_max; left > 0 && !steps_.empty() && steps_.top().at <= now; --left) {
        const step todo = steps_.top();
        steps_.pop();
        const auto found = sets_.find(todo.uid);
        if (found != sets_.end() && found->second.round == todo.round) advance(found->second, todo.which, now);
    }
    return wrote_;
}

void player::notice(const change& what, time now) {
    if (what.after) {
        take(*what.after, now);
    } else if (what.last) {
        sets_.erase(what.last->uid);
    }
}

void player::take(const record& state, time now) {
    if (state.deleting) {
        sets_.erase(state.uid);
        return;
    }
    api::arena memory;
    const auto known = sets_.find(state.uid);
    if (known != sets_.end() && known->second.ended) return;
    const api::ref object = open(memory, state);
    const bool suspended = object.get({"spec", "suspend"}).as_bool(false);
    if (known != sets_.end()) {
        if (known->second.suspended == suspended) return;
        known->second.suspended = suspended;
        ++known->second.round;
        if (suspended) return suspend(known->second);
        write_status(known->second, "Resumed");
        return begin_parts(known->second, now);
    }
    if (has_ended(object)) return;
    played set{.id = {job_sets_, {state.ns, state.name}}, .uid = state.uid, .script = script_, .suspended = suspended};
    std::string text{object.get({"metadata", "annotations", script_annotation}).as_string()};
    for (const auto& [uid, blocks] : state.owners) {
        const auto owner = cluster_.objects().find_uid(uid);
        const record_ptr above =
            owner ? cluster_.objects().find(*owner->of, owner->key.first, owner->key.second) : nullptr;
        if (above && text.empty())
            text = open(memory, *above).get({"metadata", "annotations", script_annotation}).as_string();
    }
    // A script that cannot be read is as none: the JobSet's author finds the player's own times.
    if (const auto own = read_script(text, script_)) set.script = *own;
    const api::ref targets = object.get({"spec", "successPolicy", "targetReplicatedJobs"});
    for (const api::ref job : object.get({"spec", "replicatedJobs"}).items()) {
        const api::ref wish = job.get({"template", "spec"});
        part made{.name = std::string{job.get("name").as_string()},
                  .replicas = job.get("replicas").as_int(1),
                  .pods = wish.get("parallelism").as_int(wish.get("completions").as_int(1))};
        for (const api::ref each : job.get("dependsOn").items())
            made.waits_for.push_back(
                {std::string{each.get("name").as_string()}, each.get("status").as_string() != "Ready"});
        made.ends_it = targets.empty() || std::ranges::any_of(targets.items(), [&](api::ref each) {
                           return each.as_string() == made.name;
                       });
        set.parts.push_back(std::move(made));
    }
    played& kept = sets_.insert_or_assign(state.uid, std::move(set)).first->second;
    if (suspended) return suspend(kept);
    write_gang(kept, "Pending");
    begin_parts(kept, now);
}

// Those whose turn it is.
void player::begin_parts(played& set, time now) {
    const auto is_met = [&](const dependency& each) {
        const auto found = std::ranges::find(set.parts, each.name, &part::name);
        return found == set.parts.end() || found->at == stage::done || (!each.complete && found->at == stage::ready);
    };
    for (std::size_t i = 0; i < set.parts.size(); ++i) {
        part& each = set.parts[i];
        if (each.at != stage::waiting || !std::ranges::all_of(each.waits_for, is_met)) continue;
        each.at = stage::starting;
        plan(set, i, now + set.script.start);
    }
}

void player::plan(const played& set, std::size_t which, time at) { steps_.push({at, set.uid, which, set.round}); }

void player::advance(played& set, std::size_t which, time now) {
    part& of = set.parts[which];
    // Others wait for its end.
    const bool initial = std::ranges::any_of(set.parts, [&](const part& other) {
        return std::ranges::any_of(other.waits_for,
                                   [&](const dependency& d) { return d.complete && d.name == of.name; });
    });
    switch (of.at) {
        case stage::waiting:
        case stage::done: return;
        case stage::starting:
            of.at = stage::pending;
            make_jobs(set, of);
            plan(set, which, now + set.script.ready);
            break;
        case stage::pending:
            of.at = stage::ready;
            show_state(set, of, stage::ready);
            if (initial || (of.ends_it && set.script.end != player_script::ending::never))
                plan(set, which, now + (initial ? set.script.run / 2 : set.script.run));
            begin_parts(set, now);
            break;
        case stage::ready:
            if (!initial && set.script.end == player_script::ending::fail) {
                show_state(set, of, stage::waiting);
                return end(set, "Failed");
            }
            of.at = stage::done;
            show_state(set, of, stage::done);
            begin_parts(set, now);
            break;
    }
    const auto over = [](const part& each) { return !each.ends_it || each.at == stage::done; };
    if (std::ranges::all_of(set.parts, over)) return end(set, "Completed");
    const auto runs = [](const part& each) { return each.at == stage::ready || each.at == stage::done; };
    if (of.at == stage::ready && std::ranges::all_of(set.parts, runs)) write_gang(set, "Running");
    write_status(set);
}

void player::end(played& set, std::string_view condition) {
    set.ended = true;
    for (part& each : set.parts) {
        if (each.at != stage::done && condition == "Completed") remove_jobs(set, each);
    }
    write_gang(set, condition == "Completed" ? "Finished" : "Failed");
    write_status(set, condition);
    set.parts.clear();
    set.parts.shrink_to_fit();
}

void player::suspend(played& set) {
    for (part& each : set.parts) {
        remove_jobs(set, each);
        each.at = stage::waiting;
    }
    write_status(set, "Suspended");
}

}  // namespace cotrain::sim
