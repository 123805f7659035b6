// YAML streams: which documents a text has, and the parts that all nodes share.
#include <algorithm>
#include <cstring>

#include "api/text_scan.hpp"
#include "api/yaml_reader.hpp"

namespace cotrain::api {

namespace {

using base::errc;

// The distance within which a key must end, as in the YAML specification.
constexpr std::ptrdiff_t key_bytes_max = 1024;

// What a value weighs beside its text.
constexpr std::size_t value_bytes = 16;

constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
constexpr std::string_view tag_prefix = "tag:yaml.org,2002:";

bool printable(const char* p, std::size_t length) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(p[i]); };
    if (length == 1) return byte(0) >= 0x20 || *p == '\n' || *p == '\r' || *p == '\t';
    if (length == 2 && byte(0) == 0xC2) return byte(1) >= 0xA0 || byte(1) == 0x85;
    return length != 3 || byte(0) != 0xEF || byte(1) != 0xBF || byte(2) < 0xBE;
}

}  // namespace

yaml_reader::yaml_reader(arena& memory, std::string_view text, read_limits limits, yaml_aliases aliases)
    : memory_(memory),
      c_(text),
      scalars_(c_, memory),
      builder_(memory),
      limits_(limits),
      expanded_bytes_max_(
          std::min(yaml_expanded_bytes_max, yaml_expanded_bytes_free + yaml_expanded_per_byte_max * text.size())),
      aliases_(aliases) {}

base::result<std::vector<yaml_document>> yaml_reader::read() {
    std::vector<yaml_document> list;
    if (!check_text()) return c_.failure();
    bool more = true;
    while (more) {
        if (!document(list, more)) return c_.failure();
    }
    return list;
}

bool yaml_reader::check_text() {
    const char* p = c_.where();
    const char* const end = p + c_.bytes_left();
    if (p == end) return true;
    if (const void* del = std::memchr(p, 0x7F, c_.bytes_left())) {
        return c_.wrong_at(static_cast<const char*>(del), "control characters are not allowed");
    }
    while ((p = find_special(p, end)) != end) {
        const std::size_t length = utf8_sequence(p, end);
        if (length == 0) return c_.wrong_at(p, "invalid UTF-8");
        if (!printable(p, length)) return c_.wrong_at(p, "control characters are not allowed");
        p += length;
    }
    return true;
}

bool yaml_reader::directive() {
    const char* const place = c_.where();
    const std::string_view line = c_.take_line();
    if (line.starts_with("%YAML ")) {
        const std::size_t version = line.find_first_not_of(' ', 6);
        if (version == std::string_view::npos || !line.substr(version).starts_with("1.")) {
            return c_.wrong_at(place, "this version of YAML is not known");
        }
        return true;
    }
    return line.starts_with("%TAG ") || c_.wrong_at(place, "unknown directive");
}

// Up to the content of the next document.
bool yaml_reader::document_start(bool& more) {
    bool directives = false;
    for (;;) {
        if (!c_.skip_to_content(false)) return false;
        if (c_.at_boundary()) {
            const bool starts = c_.peek() == '-';
            c_.advance(3);
            if (starts) return c_.skip_to_content(false);
        } else if (c_.column() == 0 && c_.peek() == '%') {
            directives = true;
            if (!directive()) return false;
        } else {
            more = !c_.at_end();
            return !directives || c_.wrong("expected '---' after a directive");
        }
    }
}

bool yaml_reader::document(std::vector<yaml_document>& list, bool& more) {
    anchors_.clear();
    if (!document_start(more)) return false;
    if (c_.at_end()) more = false;
    if (!more || c_.at_boundary()) return true;
    if (list.size() == yaml_documents_max) {
        return c_.wrong("more than " + std::to_string(yaml_documents_max) + " documents", errc::too_large);
    }
    const std::size_t line = c_.line_number();
    const bool in_braces = c_.peek() == '{';
    node root;
    if (!block_node(-1, after::start, root) || !c_.skip_to_content(false)) return false;
    const bool next_json = in_braces && c_.peek() == '{';  // one JSON object after the other, as jq prints them
    if (!c_.at_end() && !c_.at_boundary() && !next_json) {
        return c_.wrong(c_.fresh()
                            ? "this belongs to nothing above: check the indentation, or put '---' between documents"
                            : "unexpected text after a value");
    }
    list.push_back({root.value, line});
    return true;
}

// Whether what started at `place` on `line` is a name: a colon follows at once, on the same line.
bool yaml_reader::key_ended(const char* place, const char* line) const {
    return c_.line() == line && c_.where() - place <= key_bytes_max;
}

bool yaml_reader::anchor_name(std::string_view& name) {
    const char* const begin = c_.where();
    const auto part_of_name = [](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_' || c == '-';
    };
    while (part_of_name(c_.peek())) c_.advance();
    name = {begin, static_cast<std::size_t>(c_.where() - begin)};
    const bool ended = c_.at_gap() || std::string_view("?:,]}%@`").find(c_.peek()) != std::string_view::npos;
    return (!name.empty() && ended) || c_.wrong("the name of an anchor has letters, digits, '-' and '_' only");
}

bool yaml_reader::property(properties& p, bool flow) {
    if (!p.any) {
        p.any = true;
        p.fresh = c_.fresh();
        p.column = c_.column();
        p.place = c_.where();
    }
    if (c_.peek() == '!') return tag(p, flow);
    if (!p.anchor.empty()) return c_.wrong("a second anchor for the same value");
    c_.advance();
    if (!anchor_name(p.anchor)) return false;
    anchors_[p.anchor] = {};
    return true;
}

bool yaml_reader::tag(properties& p, bool flow) {
    if (p.has_tag) return c_.wrong("a second tag for the same value");
    p.has_tag = true;
    const char* const begin = c_.where();
    const auto in_brackets = [&] {
        return flow && std::string_view(",[]{}").find(c_.peek()) != std::string_view::npos;
    };
    while (!c_.at_gap() && !in_brackets()) c_.advance();
    std::string_view text(begin, static_cast<std::size_t>(c_.where() - begin));
    if (text == "!") {
        p.tag = yaml_tag::string;
    } else if (text.starts_with("!!")) {
        p.tag = yaml_tag_named(text.substr(2));
    } else if (text.find_first_of("{}|\"`\\^") != std::string_view::npos) {
        return c_.wrong_at(begin, "a tag ends with a space");
    } else if (text.starts_with("!<") && text.ends_with('>') && text.substr(2).starts_with(tag_prefix)) {
        p.tag = yaml_tag_named(text.substr(2 + tag_prefix.size(), text.size() - 3 - tag_prefix.size()));
    } else {
        p.tag = yaml_tag::other;
    }
    return true;
}

bool yaml_reader::alias(node& out) {
    const char* const place = c_.where();
    std::string_view name;
    c_.advance();
    if (aliases_ == yaml_aliases::refused) return c_.wrong_at(place, "an alias is not allowed here");
    if (!anchor_name(name)) return false;
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) return c_.wrong_at(place, "unknown anchor '" + std::string(name) + "'");
    if (found->second.open) return c_.wrong_at(place, "the anchor '" + std::string(name) + "' contains itself");
    const node& original = found->second.what;
    if (depth_ + original.height > limits_.depth_max + 1) {
        return c_.wrong_at(place, "nested deeper than " + std::to_string(limits_.depth_max) + " levels",
                           errc::too_large);
    }
    out.value = original.value;
    out.height = original.height;
    out.values = original.values;
    out.bytes = original.bytes;
    return count(original.values) && expand(original.bytes);
}

bool yaml_reader::scan(int column_min, bool flow, yaml_scalar& text) {
    const char c = c_.peek();
    if (c == '"') return scalars_.double_quoted(text);
    if (c == '\'') return scalars_.single_quoted(text);
    if (!flow && (c == '|' || c == '>')) return scalars_.block(column_min - 1, text);
    const bool indicator = std::string_view(",[]{}#&*!|>%@`").find(c) != std::string_view::npos;
    const bool starts = c == '-' ? !c_.at_gap(1) : (c != '?' && c != ':') || (!flow && !c_.at_gap(1));
    if (indicator || !starts) return c_.wrong(std::string("a value cannot start with '") + c + "'");
    return scalars_.plain(column_min, flow, text);
}

bool yaml_reader::resolve(const properties& p, const yaml_scalar& text, const char* place, node& out) {
    problem_.clear();
    const auto value = resolve_yaml(memory_, p.tag, text.text, text.plain, problem_);
    if (!value) return c_.wrong_at(place, problem_);
    out.value = *value;
    out.bytes = value_bytes + text.text.size();
    out.merge = text.plain && !p.has_tag && text.text == "<<";
    return count(1);
}

bool yaml_reader::empty(const properties& p, node& out) {
    return resolve(p, {.text = {}, .plain = true, .multi_line = false}, c_.where(), out) && finish(p, out);
}

bool yaml_reader::combine(const properties& outer, const properties& inner, properties& both) {
    if (outer.has_tag && inner.has_tag) return c_.wrong_at(inner.place, "a second tag for the same value");
    if (!outer.anchor.empty() && !inner.anchor.empty()) {
        return c_.wrong_at(inner.place, "a second anchor for the same value");
    }
    properties result = inner.any ? inner : outer;
    if (outer.has_tag) {
        result.has_tag = true;
        result.tag = outer.tag;
    }
    if (!outer.anchor.empty()) result.anchor = outer.anchor;
    result.any = outer.any || inner.any;
    both = result;
    return true;
}

bool yaml_reader::finish(const properties& p, node& n) {
    if (!p.anchor.empty()) anchors_[p.anchor] = {n, false};
    return true;
}

bool yaml_reader::open(frame& f) {
    f = {builder_.mark(), key_places_.size(), merges_.size()};
    return depth_ <= limits_.depth_max ||
           c_.wrong("nested deeper than " + std::to_string(limits_.depth_max) + " levels", errc::too_large);
}

bool yaml_reader::leave() {
    --depth_;
    return true;
}

bool yaml_reader::count(std::size_t values) {
    values_ += values;
    return values_ <= yaml_values_max ||
           c_.wrong("more than " + std::to_string(yaml_values_max) + " values, aliases counted each time",
                    errc::too_large);
}

bool yaml_reader::expand(std::size_t bytes) {
    expanded_bytes_ += bytes;
    return expanded_bytes_ <= expanded_bytes_max_ ||
           c_.wrong("aliases stand for more than " + std::to_string(expanded_bytes_max_) + " bytes", errc::too_large);
}

bool yaml_reader::add_item(frame& f, const node& v) {
    f.values += v.values;
    f.bytes += v.bytes;
    f.height = std::max(f.height, v.height + 1);
    builder_.push(v.value);
    return true;
}

bool yaml_reader::add_member(frame& f, const node& key, const node& v) {
    if (key.merge) {
        merges_.push_back({v.value, key.place, (builder_.mark() - f.mark) / 2});
        f.height = std::max(f.height, v.height);
        f.bytes += v.bytes;
        return true;
    }
    const auto name = yaml_key(memory_, key.value);
    if (!name)
        return c_.wrong_at(key.place, std::string(to_string(key.value.type())) + " cannot be the name of a member");
    builder_.push(*name);
    key_places_.push_back(key.place);
    f.bytes += key.bytes;
    return add_item(f, v);
}

// As kubectl does it: a merge takes the place of what stands before it, what stands behind it wins over both. (YAML's
// own definition lets every member win; then a render would show another object than the cluster gets.)
bool yaml_reader::apply_merges(const frame& f, std::size_t& values) {
    const std::size_t own = (builder_.mark() - f.mark) / 2;
    const auto push_all = [&](ref source) {
        for (const member& m : source.members()) {
            builder_.push(m.name);
            builder_.push(m.value);
        }
    };
    for (std::size_t i = f.merges; i < merges_.size(); ++i) {
        const auto& [source, place, members_before] = merges_[i];
        bool good = source.is_object() || source.is_array();
        for (const ref item : source.items()) good = good && item.is_object();
        if (!good) return c_.wrong_at(place, "'<<' takes an object or a list of objects");
        const std::size_t before = builder_.mark();
        push_all(source);
        for (std::size_t k = source.items().size(); k > 0; --k) push_all(source.at(k - 1));  // the first of a list wins
        const std::size_t pushed = builder_.mark() - before;
        values += pushed;
        if (!count(pushed)) return false;
        if (memory_.exceeded()) break;  // told when the object is closed
        const std::size_t members_end = i + 1 < merges_.size() ? merges_[i + 1].members_before : own;
        for (std::size_t k = 2 * members_before; k < 2 * members_end; ++k) builder_.push(builder_.since(f.mark)[k]);
    }
    merges_.resize(f.merges);
    builder_.drop_duplicates(f.mark);
    return true;
}

bool yaml_reader::close(kind k, const frame& f, node& out) {
    std::size_t values = f.values;
    if (k == kind::object) {
        if (const auto twice = builder_.first_duplicate(f.mark)) {
            const std::string_view name = builder_.since(f.mark)[2 * *twice].text();
            return c_.wrong_at(key_places_[f.places + *twice],
                               "'" + base::one_line(name, 80) + "' occurs twice in the same object");
        }
        key_places_.resize(f.places);
        if (merges_.size() > f.merges && !apply_merges(f, values)) return false;
    }
    out.value = builder_.close(k, f.mark);
    out.height = std::max(f.height, 1U);
    out.values = values;
    out.bytes = value_bytes + f.bytes;
    if (memory_.exceeded()) return c_.wrong("the document needs more memory than is allowed", errc::too_large);
    return count(1);
}

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
    return list->front().value;
}

}  // namespace cotrain::api
