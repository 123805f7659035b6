// Writes and reads snapshots.
#include "sim/snapshot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/json.hpp"
#include "sim/shaping.hpp"

namespace cotrain::sim {
namespace {

constexpr std::string_view first_line = R"({"snapshot":"cotrain","version":1})";

std::unexpected<base::error> wrong(std::size_t line, std::string_view what) {
    return base::fail(base::errc::invalid, fmt::format("snapshot, line {}: {}", line, what));
}

base::result<> restore(cluster& into, std::size_t line, std::string_view text, bool definitions) {
    api::arena memory;
    const auto read = api::parse_json(memory, text);
    if (!read || !read->is_object()) return wrong(line, read ? "no object" : read.error().message);
    const std::string_view name = read->get("kind").as_string();
    if ((name == "CustomResourceDefinition") != definitions) return {};
    const kind* const of = into.types().find(read->get("apiVersion").as_string(), name);
    if (of == nullptr)
        return wrong(line, fmt::format("{} of {} is not known", name, read->get("apiVersion").as_string()));
    if (definitions) {
        if (auto made = into.types().define(*read); !made) return wrong(line, made.error().message);
    }
    api::editor object = api::editor::of(memory, *read);
    object.ensure_object("metadata").set("resourceVersion", fmt::format("{}", into.objects().next_version()));
    record state = make_record(object);
    if (state.name.empty() || state.uid.empty()) return wrong(line, "an object without a name or uid");
    if (into.objects().find(*of, state.ns, state.name)) return wrong(line, "the same object a second time");
    into.objects().put(*of, std::move(state));
    return {};
}

}  // namespace

std::string write_snapshot(const cluster& from) {
    std::string out{first_line};
    out += '\n';
    for (const auto& each : from.types().all()) {
        if (each->of_other) continue;
        for (const record_ptr& object : from.objects().list(*each, {.version = from.objects().version()}))
            out.append(object->json).append("\n");
    }
    return out;
}

base::result<> read_snapshot(cluster& into, std::string_view text) {
    if (!text.starts_with(first_line)) return wrong(1, "this is no snapshot of a playground");
    if (text.size() > snapshot_bytes_max) return wrong(1, "larger than a snapshot may be");
    for (const bool definitions : {true, false}) {
        std::string_view rest = text;
        for (std::size_t line = 1; !rest.empty(); ++line) {
            const std::size_t end = std::min(rest.find('\n'), rest.size());
            const std::string_view one = rest.substr(0, end);
            rest.remove_prefix(std::min(end + 1, rest.size()));
            if (line == 1 || one.empty()) continue;
            if (auto done = restore(into, line, one, definitions); !done) return done;
        }
    }
    return {};
}

}  // namespace cotrain::sim
