// Events in both of their forms: events.k8s.io/v1, which are kept, and core/v1, which kubectl reads.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "api/edit.hpp"
#include "sim/built_in.hpp"
#include "sim/table.hpp"

namespace cotrain::sim {
namespace {

struct names {
    const char* stored;
    const char* shown;
};
constexpr std::array same_meaning{names{"regarding", "involvedObject"},
                                  names{"note", "message"},
                                  names{"reportingController", "reportingComponent"},
                                  names{"reportingInstance", "reportingInstance"},
                                  names{"reason", "reason"},
                                  names{"type", "type"},
                                  names{"action", "action"},
                                  names{"eventTime", "eventTime"},
                                  names{"series", "series"},
                                  names{"related", "related"},
                                  names{"deprecatedSource", "source"},
                                  names{"deprecatedFirstTimestamp", "firstTimestamp"},
                                  names{"deprecatedLastTimestamp", "lastTimestamp"},
                                  names{"deprecatedCount", "count"}};

api::ref rename(api::arena& memory, api::ref from, bool to_core) {
    api::editor out = api::editor::object(memory);
    out.set("kind", "Event").set("apiVersion", to_core ? "v1" : "events.k8s.io/v1");
    if (const api::ref metadata = from.get("metadata")) out.set("metadata", metadata);
    for (const names& each : same_meaning) {
        const api::ref value = from.get(to_core ? each.stored : each.shown);
        if (value) out.set(to_core ? each.shown : each.stored, value);
    }
    return out;
}

api::ref show_event(api::arena& memory, api::ref stored) { return rename(memory, stored, true); }
api::ref read_event(api::arena& memory, api::ref shown) { return rename(memory, shown, false); }

std::string stored_field(std::string_view selected) {
    constexpr std::string_view object = "involvedObject.";
    if (selected.starts_with(object)) return "regarding." + std::string{selected.substr(object.size())};
    if (selected == "reportingComponent" || selected == "source") return "reportingController";
    return std::string{selected};
}

std::string last_seen(api::ref event, api::seconds_time now) {
    for (const api::ref each :
         {event.get({"series", "lastObservedTime"}), event.get("deprecatedLastTimestamp"), event.get("lastTimestamp"),
          event.get("eventTime"), event.get({"metadata", "creationTimestamp"})}) {
        if (const auto then = api::parse_time_seconds(each.as_string())) return short_duration(now - *then);
    }
    return "<unknown>";
}

std::string object_of(api::ref event, api::seconds_time) {
    const api::ref about = event.contains("regarding") ? event.get("regarding") : event.get("involvedObject");
    std::string kind_name{about.get("kind").as_string()};
    for (char& c : kind_name) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return fmt::format("{}/{}", kind_name, about.get("name").as_string());
}

std::vector<column> columns(const char* note) {
    return {{"Last Seen", "string", "", 0, "When it happened last", last_seen},
            {"Type", "string", ".type", 0, "Normal or Warning"},
            {"Reason", "string", ".reason", 0, "Why"},
            {"Object", "string", "", 0, "The object that the event is about", object_of},
            {"Message", "string", note, 0, "What happened"},
            {"Age", "date", ".metadata.creationTimestamp", 1, "Time since the object was created."}};
}

}  // namespace

void add_events(std::vector<kind>& to) {
    kind core = make_kind({"", "v1", "events", "event", "Event", true, {"ev"}}, own_type("Event"));
    core.columns = columns(".message");
    core.of_other = other_form{"events.k8s.io", "v1", "events", show_event, read_event, stored_field};
    to.push_back(std::move(core));
    kind event = make_kind({"events.k8s.io", "v1", "events", "event", "Event", true, {"ev"}}, own_type("Event"));
    event.columns = columns(".note");
    event.selectable = {"regarding.kind",
                        "regarding.namespace",
                        "regarding.name",
                        "regarding.uid",
                        "regarding.apiVersion",
                        "regarding.resourceVersion",
                        "regarding.fieldPath",
                        "reason",
                        "type",
                        "reportingController"};
    to.push_back(std::move(event));
}

}  // namespace cotrain::sim
