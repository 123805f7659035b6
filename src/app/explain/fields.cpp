#include "app/explain/fields.hpp"

#include <algorithm>
#include <array>
#include <set>

#include "doc/json.hpp"

namespace cotrain::app {

namespace {

constexpr std::array keys{std::string_view("name"), std::string_view("mountPath"), std::string_view("containerPort"),
                          std::string_view("key"), std::string_view("topologyKey")};

void collect(doc::ref value, const std::string& path, field_values& out) {
    if (out.size() >= fields_max) return;
    if (is_field(value)) {
        out.emplace(path, doc::to_json(value));
    } else if (value.is_object()) {
        for (const doc::member& m : value.members())
            collect(m.value, path.empty() ? std::string(m.key()) : path + "." + std::string(m.key()), out);
    } else {
        const std::string_view key = item_key(value);
        for (std::size_t i = 0; i < value.size(); ++i) collect(value.at(i), path + item_step(value, key, i), out);
    }
}

}  // namespace

bool is_field(doc::ref value) {
    return value.empty() || (value.is_array() && std::ranges::none_of(value.items(), &doc::ref::is_container));
}

std::string_view item_key(doc::ref list) {
    for (const std::string_view key : keys) {
        std::set<std::string_view> seen;
        const bool good = std::ranges::all_of(list.items(), [&](doc::ref item) {
            const std::string_view text = item.get(key).text();
            return !text.empty() && seen.insert(text).second;
        });
        if (good) return key;
    }
    return {};
}

std::string item_step(doc::ref list, std::string_view key, std::size_t index) {
    const std::string_view name = list.at(index).get(key).text();
    return "[" + (key.empty() ? std::to_string(index) : std::string(name)) + "]";
}

field_values fields_of(doc::ref document) {
    field_values out;
    collect(document, {}, out);
    return out;
}

}  // namespace cotrain::app
