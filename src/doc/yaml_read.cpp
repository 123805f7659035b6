// YAML to documents: libyaml's events, put together as sigs.k8s.io/yaml does it.
#include <yaml.h>

#include <algorithm>
#include <map>
#include <new>
#include <optional>

#include "doc/text_scan.hpp"
#include "doc/tree_builder.hpp"
#include "doc/yaml.hpp"
#include "doc/yaml_resolve.hpp"

namespace cotrain::doc {

namespace {

using base::errc;

// What a value weighs beside its text.
constexpr std::size_t value_bytes = 16;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view tag_prefix = "tag:yaml.org,2002:";

std::string_view text_of(const yaml_char_t* text) {
    return text == nullptr ? std::string_view{} : std::string_view(reinterpret_cast<const char*>(text));
}

// A place in the text; both count from 0, columns count characters.
struct place {
    std::uint32_t line = 0;
    std::uint32_t column = 0;
};
place at(const yaml_mark_t& mark) {
    return {static_cast<std::uint32_t>(mark.line), static_cast<std::uint32_t>(mark.column)};
}
std::string to_string(place p) {
    return "line " + std::to_string(p.line + 1) + ", column " + std::to_string(p.column + 1);
}

struct yaml_event : yaml_event_t {
    yaml_event() : yaml_event_t{} {}
    ~yaml_event() { yaml_event_delete(this); }
    yaml_event(const yaml_event&) = delete;
    yaml_event& operator=(const yaml_event&) = delete;
};

// Functions return false after recording a mistake.
class yaml_reader {
   public:
    yaml_reader(arena& memory, std::string_view text, read_limits limits, yaml_aliases aliases)
        : memory_(memory),
          text_(text),
          builder_(memory),
          limits_(limits),
          expanded_bytes_max_(
              std::min(yaml_expanded_bytes_max, yaml_expanded_bytes_free + yaml_expanded_per_byte_max * text.size())),
          aliases_(aliases) {
        if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
        yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
        yaml_parser_set_input(&parser_, give, this);
    }
    ~yaml_reader() { yaml_parser_delete(&parser_); }
    yaml_reader(const yaml_reader&) = delete;
    yaml_reader& operator=(const yaml_reader&) = delete;

    base::result<std::vector<yaml_document>> read() {
        if (!check_directives()) return base::fail(std::move(*mistake_));
        for (;;) {
            yaml_event e;
            if (yaml_parser_parse(&parser_, &e) == 0) return base::fail(syntax_error());
            if (e.type == YAML_STREAM_END_EVENT) return std::move(list_);
            if (!take(e)) return base::fail(std::move(*mistake_));
        }
    }

   private:
    struct node {
        ref value;
        unsigned height = 0;     // levels below
        std::size_t values = 1;  // all values in it, those of aliases counted each time
        std::size_t bytes = 0;   // their weight
        place where{};
        bool merge = false;  // a plain <<
    };
    struct anchored {
        node what;
        bool open = true;  // still being read
    };
    // An open list or object.
    struct frame {
        kind what;
        place where;
        anchored* anchor = nullptr;
        std::size_t mark = 0;  // of the builder
        std::size_t names = 0;
        std::size_t merges = 0;
        std::size_t values = 1;
        std::size_t bytes = 0;
        unsigned height = 1;
        std::optional<node> key{};  // read, and its value is still to come
    };
    struct merged {
        ref source;
        place where;
        std::size_t members_before;
    };

    // libyaml's source. Like kubectl we end the last line, which block scalars keep.
    static int give(void* self, unsigned char* to, std::size_t size, std::size_t* given) {
        auto& from = *static_cast<yaml_reader*>(self);
        std::string_view rest = from.text_.substr(std::min(from.given_, from.text_.size()));
        if (from.given_ == from.text_.size() && !from.text_.ends_with('\n')) rest = "\n";
        *given = std::min(size, rest.size());
        std::ranges::copy(rest.substr(0, *given), to);
        from.given_ += *given;
        return 1;
    }

    bool wrong(place where, std::string_view what, errc code = errc::decode) {
        mistake_ = base::make_error(code, to_string(where) + ": " + std::string(what));
        return false;
    }

    base::error syntax_error() const {
        std::string problem = parser_.problem == nullptr ? "not YAML" : parser_.problem;
        switch (parser_.error) {
            case YAML_MEMORY_ERROR: throw std::bad_alloc();
            case YAML_READER_ERROR: {
                const auto [line, column] = position_of(text_, parser_.problem_offset);
                return base::make_error(errc::decode, "line " + std::to_string(line) + ", column " +
                                                          std::to_string(column) + ": " + problem);
            }
            default: break;
        }
        if (problem == "did not find expected <document start>") {
            problem = "this belongs to nothing above: check the indentation, or put '---' between documents";
        }
        std::string message = to_string(at(parser_.problem_mark)) + ": " + problem;
        if (parser_.context != nullptr) {
            message += std::string(" ") + parser_.context;
            const place begun = at(parser_.context_mark);
            if (begun.line != parser_.problem_mark.line) message += " that starts at " + to_string(begun);
        }
        return base::make_error(errc::decode, std::move(message));
    }

    // libyaml compares each %TAG line with those before it.
    bool check_directives() {
        constexpr std::string_view directive = "%TAG";
        std::size_t count = 0;
        for (std::size_t i = text_.find(directive); i != std::string_view::npos; i = text_.find(directive, i + 1)) {
            if (i != 0 && text_[i - 1] != '\n') continue;
            if (++count <= yaml_tag_directives_max) continue;
            const auto line = static_cast<std::uint32_t>(position_of(text_, i).line - 1);
            return wrong({line, 0}, "more than " + std::to_string(yaml_tag_directives_max) + " %TAG lines",
                         errc::too_large);
        }
        return true;
    }

    bool take(const yaml_event& e) {
        const place where = at(e.start_mark);
        switch (e.type) {
            case YAML_DOCUMENT_START_EVENT: anchors_.clear(); return true;
            case YAML_ALIAS_EVENT: return alias(text_of(e.data.alias.anchor), where);
            case YAML_SCALAR_EVENT: return scalar(e, where);
            case YAML_SEQUENCE_START_EVENT: return open(kind::array, where, e.data.sequence_start.anchor);
            case YAML_MAPPING_START_EVENT: return open(kind::object, where, e.data.mapping_start.anchor);
            case YAML_SEQUENCE_END_EVENT:
            case YAML_MAPPING_END_EVENT: return close();
            default: return true;
        }
    }

    anchored* anchor(const yaml_char_t* name) {
        if (name == nullptr) return nullptr;
        anchored& made = anchors_[std::string(text_of(name))];
        made = {};
        return &made;
    }

    bool alias(std::string_view name, place where) {
        if (aliases_ == yaml_aliases::refused) return wrong(where, "an alias is not allowed here");
        const auto found = anchors_.find(name);
        const std::string shown = "'" + base::one_line(name, 80) + "'";
        if (found == anchors_.end()) return wrong(where, "unknown anchor " + shown);
        if (found->second.open) return wrong(where, "the anchor " + shown + " contains itself");
        node copy = found->second.what;
        if (frames_.size() + copy.height > limits_.depth_max) return too_deep(where);
        copy.where = where;
        copy.merge = false;
        return count(copy.values, where) && expand(copy.bytes, where) && add(copy);
    }

    bool scalar(const yaml_event& e, place where) {
        const auto& s = e.data.scalar;
        const bool plain = s.style == YAML_PLAIN_SCALAR_STYLE;
        const std::string_view text(reinterpret_cast<const char*>(s.value), s.length);
        if (frames_.empty() && plain && text.empty() && s.tag == nullptr && s.anchor == nullptr) return true;
        yaml_tag tag = yaml_tag::none;
        if (s.tag != nullptr) {
            const std::string_view name = text_of(s.tag);
            tag = name.starts_with(tag_prefix) ? yaml_tag_named(name.substr(tag_prefix.size())) : yaml_tag::other;
        }
        std::string problem;
        const auto value = resolve_yaml(memory_, tag, memory_.copy(text), plain, problem);
        if (!value) return wrong(where, problem);
        const node made{.value = *value,
                        .bytes = value_bytes + text.size(),
                        .where = where,
                        .merge = plain && tag == yaml_tag::none && text == "<<"};
        if (anchored* const kept = anchor(s.anchor)) *kept = {made, false};
        return count(1, where) && add(made);
    }

    bool too_deep(place where) {
        return wrong(where, "nested deeper than " + std::to_string(limits_.depth_max) + " levels", errc::too_large);
    }

    bool open(kind what, place where, const yaml_char_t* name) {
        if (frames_.size() >= limits_.depth_max) return too_deep(where);
        if (!frames_.empty() && frames_.back().what == kind::object && !frames_.back().key) {
            return wrong(where, std::string(to_string(what)) + " cannot be the name of a member");
        }
        frames_.push_back({.what = what,
                           .where = where,
                           .anchor = anchor(name),
                           .mark = builder_.mark(),
                           .names = names_.size(),
                           .merges = merges_.size()});
        return true;
    }

    bool close() {
        frame f = frames_.back();
        frames_.pop_back();
        if (f.what == kind::object && !close_object(f)) return false;
        const node made{.value = builder_.close(f.what, f.mark),
                        .height = f.height,
                        .values = f.values,
                        .bytes = value_bytes + f.bytes,
                        .where = f.where};
        if (f.anchor != nullptr) *f.anchor = {made, false};
        if (memory_.exceeded()) {
            return wrong(f.where, "the document needs more memory than is allowed", errc::too_large);
        }
        return count(1, f.where) && add(made);
    }

    bool close_object(frame& f) {
        const auto twice = builder_.first_duplicate(f.mark);
        if (twice && warnings_.size() < yaml_warnings_max) {
            const std::string_view name = builder_.since(f.mark)[2 * *twice].text();
            warnings_.push_back(to_string(names_[f.names + *twice]) + ": '" + base::one_line(name, 80) +
                                "' occurs twice in the same object");
        }
        names_.resize(f.names);
        if (merges_.size() > f.merges && !apply_merges(f)) return false;
        if (twice) builder_.drop_duplicates(f.mark);
        return true;
    }

    // Puts a value where it belongs: in the open list or object, or at the top.
    bool add(const node& v) {
        if (frames_.empty()) return add_document(v);
        frame& f = frames_.back();
        if (f.what == kind::object && !f.key) return add_name(f, v);
        f.height = std::max(f.height, v.height + 1);
        f.bytes += v.bytes;
        if (f.what == kind::object && f.key->merge) {
            merges_.push_back({v.value, f.key->where, (builder_.mark() - f.mark) / 2});
            f.key.reset();
            return true;
        }
        f.values += v.values;
        if (f.what == kind::object) {
            builder_.push(f.key->value);
            names_.push_back(f.key->where);
            f.bytes += f.key->bytes;
            f.key.reset();
        }
        builder_.push(v.value);
        return true;
    }

    bool add_name(frame& f, node key) {
        if (!key.merge) {
            const auto name = yaml_key(memory_, key.value);
            if (!name) {
                return wrong(key.where, std::string(to_string(key.value.type())) + " cannot be the name of a member");
            }
            key.value = *name;
        }
        f.key = key;
        return true;
    }

    bool add_document(const node& v) {
        if (list_.size() == yaml_documents_max) {
            return wrong(v.where, "more than " + std::to_string(yaml_documents_max) + " documents", errc::too_large);
        }
        list_.push_back({v.value, v.where.line + 1, std::move(warnings_)});
        warnings_.clear();
        return true;
    }

    bool count(std::size_t values, place where) {
        values_ += values;
        return values_ <= yaml_values_max ||
               wrong(where, "more than " + std::to_string(yaml_values_max) + " values, aliases counted each time",
                     errc::too_large);
    }

    bool expand(std::size_t bytes, place where) {
        expanded_bytes_ += bytes;
        return expanded_bytes_ <= expanded_bytes_max_ ||
               wrong(where, "aliases stand for more than " + std::to_string(expanded_bytes_max_) + " bytes",
                     errc::too_large);
    }

    // As kubectl does it: a merge replaces what comes before it, what comes after it wins over both.
    // (YAML's own definition lets every member win; then a render would show another object than the cluster gets.)
    bool apply_merges(frame& f) {
        const std::size_t own = (builder_.mark() - f.mark) / 2;
        const auto push_all = [&](ref source) {
            for (const member& m : source.members()) {
                builder_.push(m.name);
                builder_.push(m.value);
            }
        };
        for (std::size_t i = f.merges; i < merges_.size(); ++i) {
            const auto& [source, where, members_before] = merges_[i];
            bool good = source.is_object() || source.is_array();
            for (const ref item : source.items()) good = good && item.is_object();
            if (!good) return wrong(where, "'<<' takes an object or a list of objects");
            const std::size_t before = builder_.mark();
            push_all(source);
            for (std::size_t k = source.items().size(); k > 0; --k) push_all(source.at(k - 1));  // the first wins
            const std::size_t pushed = builder_.mark() - before;
            f.values += pushed;
            if (!count(pushed, where)) return false;
            if (memory_.exceeded()) break;  // told when the object is closed
            const std::size_t members_end = i + 1 < merges_.size() ? merges_[i + 1].members_before : own;
            for (std::size_t k = 2 * members_before; k < 2 * members_end; ++k) {
                builder_.push(builder_.since(f.mark)[k]);
            }
        }
        merges_.resize(f.merges);
        builder_.drop_duplicates(f.mark);
        return true;
    }

    arena& memory_;
    std::string_view text_;
    std::size_t given_ = 0;
    yaml_parser_t parser_{};
    tree_builder builder_;
    read_limits limits_;
    std::vector<yaml_document> list_;
    std::vector<frame> frames_;
    std::vector<place> names_;  // of the members of open objects
    std::vector<merged> merges_;
    std::map<std::string, anchored, std::less<>> anchors_;  // foreign names: no hash that can be made to collide
    std::vector<std::string> warnings_;                     // about the document that is read
    std::size_t values_ = 0;
    std::size_t expanded_bytes_ = 0;  // by aliases
    std::size_t expanded_bytes_max_;
    yaml_aliases aliases_;
    std::optional<base::error> mistake_;
};

// One JSON object after the other, as kubectl reads a text that starts with '{'. Nothing if it is not that.
std::optional<std::vector<yaml_document>> json_objects(arena& memory, std::string_view text, read_limits limits) {
    constexpr std::string_view space = " \t\r\n";
    std::size_t begin = text.find_first_not_of(space);
    if (begin == std::string_view::npos || text[begin] != '{') return std::nullopt;
    std::vector<yaml_document> list;
    std::size_t line = 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, begin), '\n'));
    text = memory.copy(text.substr(begin));
    while (!text.empty()) {
        std::string_view rest = text;
        const auto object = parse_json_prefix(memory, rest, limits);
        if (!object || memory.exceeded() || list.size() == yaml_documents_max) return std::nullopt;
        list.push_back({*object, line});
        begin = std::min(rest.find_first_not_of(space), rest.size());
        const std::string_view passed = text.substr(0, text.size() - rest.size() + begin);
        line += static_cast<std::size_t>(std::ranges::count(passed, '\n'));
        text.remove_prefix(passed.size());
        if (!text.empty() && text[0] != '{') return std::nullopt;
    }
    return list;
}

}  // namespace

base::result<std::vector<yaml_document>> parse_yaml_stream(arena& memory, std::string_view text, read_limits limits,
                                                           yaml_aliases aliases) {
    if (text.size() > limits.bytes_max) {
        return base::fail(errc::too_large, "YAML of " + std::to_string(text.size()) + " bytes is larger than the " +
                                               std::to_string(limits.bytes_max) + " allowed");
    }
    if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
        return base::fail(errc::decode, "line 1, column 1: the text is UTF-16, expected UTF-8");
    }
    if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
    if (auto objects = json_objects(memory, text, limits)) return std::move(*objects);
    return yaml_reader(memory, text, limits, aliases).read();
}

base::result<ref> parse_yaml(arena& memory, std::string_view text, read_limits limits, yaml_aliases aliases) {
    auto list = parse_yaml_stream(memory, text, limits, aliases);
    if (!list) return std::unexpected(std::move(list.error()));
    if (list->empty()) return ref::make_null();
    if (list->size() > 1) {
        return base::fail(errc::decode, "line " + std::to_string((*list)[1].line) +
                                            ", column 1: a second document where one is expected");
    }
    if (!list->front().warnings.empty()) return base::fail(errc::decode, std::move(list->front().warnings.front()));
    return list->front().value;
}

}  // namespace cotrain::doc
