// Series, the rate of normal events, and the JSON of Events.
#include "reconcile/event_recorder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "api/names.hpp"
#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/time.hpp"

namespace cotrain::reconcile {

namespace {

constexpr std::size_t name_bytes_max = 253;

std::string_view text(event_type t) { return t == event_type::normal ? "Normal" : "Warning"; }

// Fields are length-prefixed so that no two events share an identity.
std::string identity_of(const event_note& e, std::string_view note) {
    std::string id;
    for (const std::string_view part :
         {std::string_view(e.about.uid), std::string_view(e.about.kind), std::string_view(e.about.ns),
          std::string_view(e.about.name), text(e.type), std::string_view(e.reason), std::string_view(e.action), note})
        id.append(std::to_string(part.size())).append(":").append(part);
    return id;
}

class object_writer {
   public:
    explicit object_writer(std::string& out) : out_(out) { out_.push_back('{'); }
    void text(std::string_view key, std::string_view value) {
        name(key);
        base::append_json_string(out_, value);
    }
    void text_if(std::string_view key, std::string_view value) {
        if (!value.empty()) text(key, value);
    }
    void number(std::string_view key, std::int64_t value) {
        name(key);
        base::append_json_number(out_, value);
    }
    void name(std::string_view key) {
        if (!first_) out_.push_back(',');
        first_ = false;
        out_.append("\"").append(key).append("\":");
    }
    void end() { out_.push_back('}'); }

   private:
    std::string& out_;
    bool first_ = true;
};

}  // namespace

std::optional<event_write> event_recorder::record(const event_note& what, moment now, wall_micros wall) {
    const std::string note = base::one_line(what.note, event_note_bytes_max);
    std::string identity = identity_of(what, note);
    if (const auto it = by_identity_.find(identity); it != by_identity_.end()) {
        if (now - it->second->last_seen <= event_series_idle) return repeat(*it->second, now, wall);
        const auto old = it->second;  // the index refers to what is in it
        by_identity_.erase(it);
        known_.erase(old);
    }
    const std::size_t group = std::hash<std::string_view>{}(what.about.ns);
    if (what.type == event_type::normal && !normal_.take(group, now, normal_events_ahead)) {
        ++metrics_.dropped;
        return std::nullopt;
    }
    // Names of one process never repeat, even within a microsecond.
    last_name_ = std::max(last_name_ + 1, static_cast<std::int64_t>(wall.time_since_epoch().count()));
    const std::string suffix = fmt::format(".{:x}", last_name_);
    std::string name = what.about.name.substr(0, name_bytes_max - suffix.size());
    event_write write = create(what, note, name + suffix, wall);
    remember(std::move(identity), write, now);
    ++metrics_.written;
    return write;
}

void event_recorder::remember(std::string identity, const event_write& write, moment now) {
    if (known_.size() == event_series_max) {
        by_identity_.erase(known_.back().identity);
        known_.pop_back();
    }
    known_.push_front({std::move(identity), write.ns, write.name, 1, now, now});
    by_identity_.emplace(known_.front().identity, known_.begin());
}

// The second occurrence is written at once, so that everyone sees it repeats; later ones now and then.
std::optional<event_write> event_recorder::repeat(known_event& known, moment now, wall_micros wall) {
    ++known.count;
    known.last_seen = now;
    known_.splice(known_.begin(), known_, by_identity_.at(known.identity));
    if (known.count > 2 && now - known.last_write < event_series_pause) {
        ++metrics_.counted;
        return std::nullopt;
    }
    known.last_write = now;
    event_write write{.how = event_write::verb::patch, .ns = known.ns, .name = known.name};
    object_writer object(write.body);
    object.name("series");
    object_writer series(write.body);
    series.number("count", known.count);
    series.text("lastObservedTime", base::format_micros(wall));
    series.end();
    object.end();
    ++metrics_.written;
    return write;
}

event_write event_recorder::create(const event_note& what, const std::string& note, std::string name,
                                   wall_micros wall) const {
    event_write write{.ns = what.about.ns.empty() ? "default" : what.about.ns, .name = std::move(name)};
    write.kept = what.kept;
    object_writer object(write.body);
    object.text("apiVersion", api::names::event.api_version);
    object.text("kind", api::names::event.kind);
    object.name("metadata");
    object_writer meta(write.body);
    meta.text("name", write.name);
    meta.text("namespace", write.ns);
    meta.end();
    object.text("eventTime", base::format_micros(wall));
    object.text("type", text(what.type));
    object.text("reason", what.reason);
    object.text("action", what.action);
    object.text("note", note);
    object.text("reportingController", controller_);
    object.text("reportingInstance", instance_);
    object.name("regarding");
    object_writer about(write.body);
    about.text("apiVersion", what.about.api_version);
    about.text("kind", what.about.kind);
    about.text_if("namespace", what.about.ns);
    about.text("name", what.about.name);
    about.text_if("uid", what.about.uid);
    about.text_if("resourceVersion", what.about.resource_version);
    about.end();
    object.end();
    return write;
}

void event_recorder::forget(std::string_view ns, std::string_view name) {
    const auto it = std::ranges::find_if(known_, [&](const known_event& e) { return e.ns == ns && e.name == name; });
    if (it == known_.end()) return;
    by_identity_.erase(it->identity);
    known_.erase(it);
}

}  // namespace cotrain::reconcile
