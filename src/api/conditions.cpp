// How conditions change, and how they are read and written.
#include "api/conditions.hpp"

#include <algorithm>

namespace cotrain::api {

namespace {

condition* find(condition_list& list, std::string_view type) {
    const auto found = std::ranges::find(list, type, &condition::type);
    return found == list.end() ? nullptr : &*found;
}

template <class T>
bool change(T& to, T from) {
    if (to == from) return false;
    to = std::move(from);
    return true;
}

}  // namespace

std::string_view to_string(condition_status s) {
    switch (s) {
        case condition_status::no: return "False";
        case condition_status::yes: return "True";
        case condition_status::unknown: break;
    }
    return "Unknown";
}

bool is_condition_reason(std::string_view text) {
    constexpr std::size_t bytes_max = 1024;
    const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
    const auto word = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '_'; };
    if (text.empty() || text.size() > bytes_max || !letter(text.front()) || !word(text.back())) return false;
    return std::ranges::all_of(text, [&](char c) { return word(c) || c == ',' || c == ':'; });
}

const condition* find_condition(const condition_list& list, std::string_view type) {
    const auto found = std::ranges::find(list, type, &condition::type);
    return found == list.end() ? nullptr : &*found;
}

bool is_true(const condition_list& list, std::string_view type) {
    const condition* const c = find_condition(list, type);
    return c != nullptr && c->status == condition_status::yes;
}

bool set_condition(condition_list& list, condition next, base::seconds_time now) {
    if (next.last_transition_time == base::seconds_time{}) next.last_transition_time = now;
    condition* const known = find(list, next.type);
    if (known == nullptr) {
        list.push_back(std::move(next));
        return true;
    }
    bool changed = false;
    if (known->status != next.status) {
        known->status = next.status;
        known->last_transition_time = next.last_transition_time;
        changed = true;
    }
    changed |= change(known->reason, std::move(next.reason));
    changed |= change(known->message, std::move(next.message));
    changed |= change(known->observed_generation, next.observed_generation);
    return changed;
}

bool remove_condition(condition_list& list, std::string_view type) {
    return std::erase_if(list, [&](const condition& c) { return c.type == type; }) != 0;
}

condition_list decode_conditions(const doc::place& status) {
    condition_list list;
    const doc::place from = status.array("conditions");
    list.reserve(from.size());
    for (std::size_t i = 0; i < from.size(); ++i) {
        const doc::place entry = from.object_item(i);
        condition c;
        entry.read("type", c.type);
        if (c.type.empty()) continue;
        std::string_view s;
        entry.read("status", s);
        c.status = s == "True"    ? condition_status::yes
                   : s == "False" ? condition_status::no
                                  : condition_status::unknown;
        entry.read("reason", c.reason);
        entry.read("message", c.message);
        entry.read("observedGeneration", c.observed_generation);
        std::optional<base::seconds_time> t;
        entry.read("lastTransitionTime", t);
        c.last_transition_time = t.value_or(base::seconds_time{});
        list.push_back(std::move(c));
    }
    return list;
}

doc::ref encode_conditions(doc::arena& memory, const condition_list& list) {
    doc::editor out = doc::editor::array(memory);
    for (const condition& c : list) {
        doc::editor entry = out.append_object();
        entry.set("type", c.type).set("status", to_string(c.status));
        if (c.observed_generation != 0) entry.set("observedGeneration", c.observed_generation);
        if (c.last_transition_time == base::seconds_time{}) {
            entry.set("lastTransitionTime", nullptr);
        } else {
            entry.set("lastTransitionTime", base::format_time(c.last_transition_time));
        }
        entry.set("reason", c.reason).set("message", c.message);
    }
    return out;
}

}  // namespace cotrain::api
