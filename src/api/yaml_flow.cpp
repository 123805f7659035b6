// YAML in brackets: lists and objects as in JSON, with fewer quotes.
#include "api/yaml_reader.hpp"

namespace cotrain::api {

// To the next content inside brackets.
bool yaml_reader::flow_gap(const char* open) {
    if (!c_.skip_to_content(true)) return false;
    if (c_.at_end() || c_.at_boundary()) return c_.wrong_at(open, "the bracket that opens here is not closed");
    return true;
}

bool yaml_reader::flow_node(node& out) {
    ++depth_;
    return flow_content(out) && leave();
}

bool yaml_reader::flow_content(node& out) {
    properties p;
    const char* const start = c_.where();
    for (;;) {
        if (!flow_gap(start)) return false;
        if (c_.peek() != '&' && c_.peek() != '!') break;
        if (!property(p, true)) return false;
    }
    out.place = c_.where();
    out.line = c_.line();
    switch (c_.peek()) {
        case '[':
            if (!flow_sequence(out)) return false;
            break;
        case '{':
            if (!flow_mapping(out)) return false;
            break;
        case '*':
            if (p.any) return c_.wrong("an alias cannot have an anchor or a tag");
            if (!alias(out)) return false;
            break;
        case ',':
        case ']':
        case '}':
        case ':':
            if (!p.any) return c_.wrong("expected a value");
            if (!resolve(p, {.text = {}, .plain = true, .multi_line = false}, out.place, out)) return false;
            break;
        default: {
            yaml_scalar text;
            if (!scan(0, true, text) || !resolve(p, text, out.place, out)) return false;
        }
    }
    return finish(p, out);
}

// After a colon: the value, null if the next entry follows.
bool yaml_reader::flow_value(node& v) {
    const char* const colon = c_.where();
    c_.advance();
    if (!flow_gap(colon)) return false;
    const char c = c_.peek();
    if (c == ',' || c == ']' || c == '}') return empty({}, v);
    return flow_node(v);
}

// "key", "key: value", "? key : value". `pair` tells whether a value is there or was asked for.
bool yaml_reader::flow_entry(node& key, node& v, bool& pair) {
    const char* const start = c_.where();
    const bool marked = c_.peek() == '?';
    pair = marked;
    if (marked) {
        c_.advance();
        if (!flow_gap(start)) return false;
        key.place = c_.where();
        if (std::string_view(",]}:").find(c_.peek()) != std::string_view::npos) {
            if (!empty({}, key)) return false;
        } else if (!flow_node(key)) {
            return false;
        }
    } else if (!flow_node(key)) {
        return false;
    }
    const char* const line = key.line;
    if (!flow_gap(start)) return false;
    if (c_.peek() != ':') return empty({}, v);
    pair = true;
    if (!marked && !key_ended(key.place, line)) return c_.wrong("a name and its ':' must be on one line");
    return flow_value(v);
}

bool yaml_reader::flow_sequence(node& out) {
    const char* const open_bracket = c_.where();
    frame f;
    if (!open(f)) return false;
    c_.advance();
    for (;;) {
        if (!flow_gap(open_bracket)) return false;
        if (c_.peek() == ']') break;
        node key;
        node v;
        bool pair = false;
        if (!flow_entry(key, v, pair)) return false;
        if (pair) {
            frame inner;
            node object;
            if (!open(inner) || !add_member(inner, key, v) || !close(kind::object, inner, object)) return false;
            key = object;
        }
        if (!add_item(f, key) || !flow_gap(open_bracket)) return false;
        if (c_.peek() == ']') break;
        if (c_.peek() != ',') return c_.wrong("expected ',' or ']'");
        c_.advance();
    }
    c_.advance();
    return close(kind::array, f, out);
}

bool yaml_reader::flow_mapping(node& out) {
    const char* const open_bracket = c_.where();
    frame f;
    if (!open(f)) return false;
    c_.advance();
    for (;;) {
        if (!flow_gap(open_bracket)) return false;
        if (c_.peek() == '}') break;
        node key;
        node v;
        bool pair = false;
        if (!flow_entry(key, v, pair) || !add_member(f, key, v) || !flow_gap(open_bracket)) return false;
        if (c_.peek() == '}') break;
        if (c_.peek() != ',') return c_.wrong("expected ',' or '}'");
        c_.advance();
    }
    c_.advance();
    return close(kind::object, f, out);
}

}  // namespace cotrain::api
