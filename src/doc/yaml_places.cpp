// A second look at a text, for places only.
#include "doc/yaml_places.hpp"

#include <yaml.h>

#include <algorithm>
#include <charconv>
#include <new>
#include <system_error>

namespace cotrain::doc {

// Puts libyaml's events into entries; what stands in the text twice stands here twice.
class yaml_places::reader {
   public:
    explicit reader(yaml_places& out) : out_(out) {}

    void read(std::string_view text) {
        yaml_parser_t parser;
        if (yaml_parser_initialize(&parser) == 0) throw std::bad_alloc();
        yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&parser, reinterpret_cast<const unsigned char*>(text.data()), text.size());
        for (bool more = true; more;) {
            yaml_event_t e;
            if (yaml_parser_parse(&parser, &e) == 0) break;
            more = e.type != YAML_STREAM_END_EVENT && out_.entries_.size() < yaml_places_max;
            take(e);
            yaml_event_delete(&e);
        }
        yaml_parser_delete(&parser);
    }

   private:
    struct open_container {
        std::uint32_t entry;
        bool list;
        bool named = false;  // a name was read, and its value is still to come
    };

    void take(const yaml_event_t& e) {
        switch (e.type) {
            case YAML_SCALAR_EVENT: {
                const auto& s = e.data.scalar;
                value(e.start_mark, {reinterpret_cast<const char*>(s.value), s.length});
                return;
            }
            case YAML_ALIAS_EVENT: value(e.start_mark, {}); return;
            case YAML_SEQUENCE_START_EVENT:
            case YAML_MAPPING_START_EVENT: {
                const bool list = e.type == YAML_SEQUENCE_START_EVENT;
                const std::uint32_t made = value(e.start_mark, {});
                out_.entries_[made].list = list;
                open_.push_back({made, list});
                return;
            }
            case YAML_SEQUENCE_END_EVENT:
            case YAML_MAPPING_END_EVENT: open_.pop_back(); return;
            default: return;
        }
    }

    // A name, or a value; the latter's entry.
    std::uint32_t value(const yaml_mark_t& mark, std::string_view text) {
        if (!open_.empty() && open_.back().named) {
            open_.back().named = false;
            return out_.entries_[open_.back().entry].last;
        }
        const auto made = static_cast<std::uint32_t>(out_.entries_.size());
        const bool is_name = !open_.empty() && !open_.back().list;
        out_.entries_.push_back({.name = is_name ? std::string(text) : std::string(),
                                 .line = static_cast<std::uint32_t>(mark.line + 1),
                                 .column = static_cast<std::uint32_t>(mark.column + 1)});
        if (open_.empty()) {
            out_.documents_.push_back(made);
            return made;
        }
        entry& above = out_.entries_[open_.back().entry];
        if (above.last == none) {
            above.first = made;
        } else {
            out_.entries_[above.last].next = made;
        }
        above.last = made;
        open_.back().named = is_name;
        return made;
    }

    yaml_places& out_;
    std::vector<open_container> open_;
};

yaml_places::yaml_places(std::string_view text) { reader(*this).read(text); }

std::uint32_t yaml_places::step(std::uint32_t above, std::string_view& path) const {
    const entry& from = entries_[above];
    const bool bracket = path.starts_with('[');
    const std::string_view inside = bracket ? path.substr(1, path.find(']') - 1) : std::string_view{};
    if (from.list) {
        std::size_t index = 0;
        if (!bracket || std::from_chars(inside.data(), inside.data() + inside.size(), index).ec != std::errc{})
            return none;
        std::uint32_t at = from.first;
        for (; at != none && index > 0; --index) at = entries_[at].next;
        path.remove_prefix(std::min(path.size(), inside.size() + 2));
        return at;
    }
    // Names may have dots: the longest that fits. Of a name that occurs twice the last value counts.
    std::uint32_t best = none;
    for (std::uint32_t at = from.first; at != none; at = entries_[at].next) {
        const std::string& name = entries_[at].name;
        const std::string_view rest = bracket ? inside : path;
        const bool fits =
            rest.starts_with(name) &&
            (rest.size() == name.size() || (!bracket && (rest[name.size()] == '.' || rest[name.size()] == '[')));
        if (fits && (best == none || name.size() >= entries_[best].name.size())) best = at;
    }
    if (best != none) path.remove_prefix(std::min(path.size(), entries_[best].name.size() + (bracket ? 2 : 0)));
    return best;
}

text_place yaml_places::find(std::size_t document_line, std::string_view path) const {
    std::uint32_t at = none;
    for (const std::uint32_t each : documents_)
        if (entries_[each].line == document_line) at = each;
    if (at == none) return {};
    while (!path.empty()) {
        if (path.starts_with('.')) path.remove_prefix(1);
        const std::uint32_t below = step(at, path);
        if (below == none) break;
        at = below;
    }
    return {entries_[at].line, entries_[at].column};
}

}  // namespace cotrain::doc
