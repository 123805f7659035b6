#include "app/explain/print.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "app/explain/fields.hpp"
#include "base/json_text.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"

namespace cotrain::app {

namespace {

// Longer lines have their layer behind them, wherever that is.
constexpr std::size_t column_max = 72;

struct line {
    std::string text;
    std::string layer{};
};

class writer {
   public:
    explicit writer(const layer_map& layers) : layers_(layers) {}

    void value(doc::ref v, const std::string& path, std::size_t indent) {
        if (v.is_object()) return object(v, path, indent);
        const std::string_view key = item_key(v);
        for (std::size_t i = 0; i < v.size(); ++i) {
            const std::size_t first = lines_.size();
            const std::string item = path + item_step(v, key, i);
            if (v.at(i).is_object() && !v.at(i).empty()) {
                value(v.at(i), item, indent + 2);
                if (first < lines_.size()) lines_[first].text[indent] = '-';
            } else if (v.at(i).is_array()) {  // JSON is YAML, too
                const auto layer = layers_.find(item);
                lines_.push_back({std::string(indent, ' ') + "- " + doc::to_json(v.at(i)),
                                  layer == layers_.end() ? std::string() : layer->second});
            } else {
                field("- ", v.at(i), item, indent);
            }
        }
    }

    [[nodiscard]] std::string text() const {
        std::size_t column = 0;
        for (const line& each : lines_)
            if (!each.layer.empty() && each.text.size() <= column_max) column = std::max(column, each.text.size());
        std::string out;
        for (const line& each : lines_) {
            out += each.text;
            if (!each.layer.empty()) {
                out.append(each.text.size() < column ? column - each.text.size() : 0, ' ');
                out.append("  # ").append(each.layer);
            }
            out += '\n';
        }
        return out;
    }

   private:
    void object(doc::ref v, const std::string& path, std::size_t indent) {
        std::vector<const doc::member*> members;
        for (const doc::member& m : v.members()) members.push_back(&m);
        std::ranges::sort(members, {}, [](const doc::member* m) { return m->key(); });
        for (const doc::member* m : members) {
            const std::string below = path.empty() ? std::string(m->key()) : path + "." + std::string(m->key());
            std::string name = doc::to_yaml(m->name);
            name.back() = ':';
            if (is_field(m->value)) {
                field(name + (m->value.empty() || !m->value.is_container() ? " " : ""), m->value, below, indent);
            } else {
                lines_.push_back({std::string(indent, ' ') + name});
                value(m->value, below, m->value.is_object() ? indent + 2 : indent);
            }
        }
    }

    // The layer stands behind its first line; a text of many lines goes on below.
    void field(const std::string& begin, doc::ref v, const std::string& path, std::size_t indent) {
        std::string text = doc::to_yaml(v);
        if (v.is_array() && !v.empty()) text.insert(0, "\n");
        const auto layer = layers_.find(path);
        std::string_view rest = text;
        for (bool first = true; !rest.empty(); first = false) {
            const std::string_view row = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), row.size() + 1));
            lines_.push_back({std::string(row.empty() && !first ? 0 : indent, ' ')
                                  .append(first ? begin : std::string_view{})
                                  .append(row),
                              first && layer != layers_.end() ? layer->second : std::string()});
        }
    }

    const layer_map& layers_;
    std::vector<line> lines_;
};

}  // namespace

std::string to_explained_yaml(doc::ref document, const layer_map& layers) {
    writer out(layers);
    if (!document.empty()) out.value(document, {}, 0);
    return out.text();
}

std::string to_explained_json(doc::ref document, const layer_map& layers) {
    std::string out = "[";
    for (const auto& [path, value] : fields_of(document)) {
        out += out.size() == 1 ? "\n  {\"path\": " : ",\n  {\"path\": ";
        base::append_json_string(out, path);
        out.append(", \"value\": ").append(value).append(", \"layer\": ");
        const auto layer = layers.find(path);
        base::append_json_string(out, layer == layers.end() ? std::string_view{} : std::string_view(layer->second));
        out += '}';
    }
    return out + "\n]\n";
}

}  // namespace cotrain::app
