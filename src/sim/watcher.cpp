// Turns the store's history into watch events.
#include "sim/watcher.hpp"

#include <fmt/format.h>

#include <utility>

namespace cotrain::sim {

watcher::watcher(const cluster& of, watch_wish wish) : cluster_(&of), wish_(std::move(wish)) {
    if (wish_.from) {
        version_ = *wish_.from;
        return;
    }
    version_ = of.objects().version();
    list_wish all{.ns = wish_.ns, .version = version_};
    if (!wish_.wanted.empty()) all.takes = [this](const record& each) { return wish_.wanted.takes(each); };
    for (record_ptr& each : of.objects().list(*wish_.of, all)) initial_.push_back(std::move(each));
    initial_open_ = wish_.initial_events;
}

std::string watcher::event(std::string_view type, const record& object, api::seconds_time now) const {
    return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, wish_.show(object, now));
}

std::string watcher::bookmark_event(bool ends_initial) const {
    const kind& shown = wish_.shown != nullptr ? *wish_.shown : *wish_.of;
    return fmt::format(
        R"({{"type":"BOOKMARK","object":{{"kind":"{}","apiVersion":"{}","metadata":{{"resourceVersion":"{}"{}}}}}}})"
        "\n",
        shown.name, shown.api_version(), version_,
        ends_initial ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "");
}

std::optional<std::string> watcher::event_of(const change& what, api::seconds_time now) const {
    const record& some = what.after ? *what.after : *what.last;
    if (what.of != wish_.of || (!wish_.ns.empty() && some.ns != wish_.ns)) return std::nullopt;
    const bool before = what.before && wish_.wanted.takes(*what.before);
    const bool after = what.after && wish_.wanted.takes(*what.after);
    if (after) return event(before ? "MODIFIED" : "ADDED", *what.after, now);
    if (!before) return std::nullopt;
    // An object that left the selection is shown as it was, at the version at which it left.
    if (what.last) return event("DELETED", *what.last, now);
    record left = *what.before;
    left.version = what.version;
    const std::string old = fmt::format("\"resourceVersion\":\"{}\"", what.before->version);
    if (const std::size_t at = left.json.find(old); at != std::string::npos)
        left.json.replace(at, old.size(), fmt::format("\"resourceVersion\":\"{}\"", what.version));
    return event("DELETED", left, now);
}

std::optional<std::string> watcher::next(api::seconds_time now) {
    if (over_) return std::nullopt;
    if (!initial_.empty()) {
        const record_ptr object = std::move(initial_.front());
        initial_.pop_front();
        return event("ADDED", *object, now);
    }
    if (initial_open_) {
        initial_open_ = false;
        return bookmark_event(true);
    }
    const store& objects = cluster_->objects();
    if (version_ < objects.compacted()) {
        over_ = true;
        return fmt::format(
            "{{\"type\":\"ERROR\",\"object\":{}}}\n",
            to_status(expired(fmt::format("too old resource version: {} ({})", version_, objects.compacted()))));
    }
    while (const change* const what = objects.next(version_)) {
        version_ = what->version;
        if (auto line = event_of(*what, now)) return line;
    }
    return std::nullopt;
}

std::optional<std::string> watcher::bookmark() {
    if (over_ || !wish_.bookmarks || !initial_.empty() || initial_open_) return std::nullopt;
    return bookmark_event(false);
}

}  // namespace cotrain::sim
