// Makes tables: columns, cells, rows.
#include "sim/table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "sim/cluster.hpp"

namespace cotrain::sim {
namespace {

std::string age(doc::ref time, base::seconds_time now) {
    const auto then = base::parse_time_seconds(time.as_string());
    return then ? short_duration(now - *then) : "<unknown>";
}

bool shows_age(const kind& of) {
    for (const column& each : of.columns) {
        if (each.path == ".metadata.creationTimestamp") return false;
    }
    return true;
}

void append_column(doc::editor list, std::string_view name, std::string_view type, std::string_view format,
                   std::string_view description, int priority) {
    doc::editor out = list.append_object();
    out.set("name", name).set("type", type).set("format", format).set("description", description);
    out.set("priority", priority);
}

void append_columns(doc::editor list, const kind& of) {
    append_column(list, "Name", "string", "name", "Name must be unique within a namespace.", 0);
    for (const column& each : of.columns) {
        append_column(list, each.name, each.type, "", each.description, each.priority);
    }
    if (shows_age(of)) append_column(list, "Age", "string", "", "Time since the object was created.", 0);
}

void append_cell(doc::editor cells, const column& of, doc::ref object, base::seconds_time now) {
    const doc::ref value = look_up(object, of.path);
    if (of.text != nullptr) {
        const std::string text = of.text(object, now);
        cells.append(of.type == "integer" ? doc::value(doc::ref::make_number(cells.memory().copy(text)))
                                          : doc::value(text));
    } else if (of.type == "date") {
        cells.append(age(value, now));
    } else if (value.is_unset()) {
        cells.append(doc::ref::make_null());
    } else if (of.type == "string" && !value.is_string()) {
        cells.append(doc::to_json(value));
    } else {
        cells.append(value);
    }
}

}  // namespace

doc::ref look_up(doc::ref at, std::string_view path) {
    while (!path.empty() && at) {
        if (path.front() == '[') {
            const std::size_t end = path.find(']');
            if (end == std::string_view::npos) return {};
            const std::string_view inside = path.substr(1, end - 1);
            path.remove_prefix(end + 1);
            if (inside == "-1:" || inside == "-1") {
                at = at.empty() ? doc::ref{} : at.at(at.size() - 1);
            } else if (inside.starts_with("?(@.")) {
                const std::size_t sign = inside.find("==");
                const std::size_t from = inside.find_first_of("\"'", sign);
                const std::size_t to = inside.find_last_of("\"'");
                if (sign == std::string_view::npos || from == std::string_view::npos || to <= from) return {};
                at = at.find_by(inside.substr(4, sign - 4), inside.substr(from + 1, to - from - 1));
            } else if (!inside.empty() && inside.find_first_not_of("0123456789") == std::string_view::npos) {
                at = at.at(std::stoul(std::string{inside.substr(0, 9)}));
            } else {
                return {};
            }
            continue;
        }
        if (path.front() == '.') path.remove_prefix(1);
        std::string name;
        while (!path.empty() && path.front() != '.' && path.front() != '[') {
            if (path.front() == '\\' && path.size() > 1) path.remove_prefix(1);
            name += path.front();
            path.remove_prefix(1);
        }
        if (!name.empty()) at = at.get(name);
    }
    return at;
}

std::string short_duration(std::chrono::seconds passed) {
    const auto s = std::max<std::int64_t>(passed.count(), 0);
    const auto minutes = s / 60;
    const auto hours = s / 3600;
    const auto days = hours / 24;
    const auto two = [](std::int64_t a, char unit, std::int64_t b, char small) {
        return b == 0 ? fmt::format("{}{}", a, unit) : fmt::format("{}{}{}{}", a, unit, b, small);
    };
    if (s < 120) return fmt::format("{}s", s);
    if (minutes < 10) return two(minutes, 'm', s % 60, 's');
    if (hours < 3) return fmt::format("{}m", minutes);
    if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
    if (hours < 48) return fmt::format("{}h", hours);
    if (days < 8) return two(days, 'd', hours % 24, 'h');
    if (days < 365 * 2) return fmt::format("{}d", days);
    if (days < 365 * 8) return two(days / 365, 'y', days % 365, 'd');
    return fmt::format("{}y", days / 365);
}

std::string only_metadata(const record& object) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "PartialObjectMetadata").set("apiVersion", "meta.k8s.io/v1");
    out.set("metadata", open(memory, object).get("metadata"));
    return doc::to_json(out);
}

std::string make_table(const kind& of, std::span<const record_ptr> rows, row_object with, const list_facts& facts,
                       base::seconds_time now, bool columns) {
    doc::arena memory;
    doc::editor out = doc::editor::object(memory);
    out.set("kind", "Table").set("apiVersion", "meta.k8s.io/v1");
    doc::editor metadata = out.ensure_object("metadata");
    metadata.set("resourceVersion", facts.resource_version);
    if (!facts.continue_token.empty()) {
        metadata.set("continue", facts.continue_token);
        if (facts.remaining > 0) metadata.set("remainingItemCount", facts.remaining);
    }
    doc::editor heads = out.ensure_array("columnDefinitions");
    if (columns) append_columns(heads, of);
    doc::editor list = out.ensure_array("rows");
    for (const record_ptr& each : rows) {
        const doc::ref object = open_as(memory, of, *each);
        doc::editor row = list.append_object();
        doc::editor cells = row.ensure_array("cells");
        cells.append(object.get({"metadata", "name"}));
        for (const column& c : of.columns) append_cell(cells, c, object, now);
        if (shows_age(of)) cells.append(age(object.get({"metadata", "creationTimestamp"}), now));
        if (with == row_object::whole) row.set("object", object);
        if (with == row_object::metadata) {
            doc::editor part = row.ensure_object("object");
            part.set("kind", "PartialObjectMetadata").set("apiVersion", "meta.k8s.io/v1");
            part.set("metadata", object.get("metadata"));
        }
    }
    return doc::to_json(out);
}

}  // namespace cotrain::sim
