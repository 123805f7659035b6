// YAML in block style: what nests by indentation.
#include "api/yaml_reader.hpp"

namespace cotrain::api {

bool yaml_reader::block_node(int indent, after where, node& out) {
    ++depth_;
    properties outer;
    properties inner;
    bool nothing = false;
    if (!block_properties(indent, where, outer, inner, nothing)) return false;
    out.place = c_.where();
    out.line = c_.line();
    if (nothing) {
        properties all;
        return combine(outer, inner, all) && empty(all, out) && leave();
    }
    return block_content(indent, where, outer, inner, out) && leave();
}

// Reads anchors and tags up to the content: `inner` are those on the content's own line. `nothing` if the node is
// empty because what follows belongs to something further out.
bool yaml_reader::block_properties(int indent, after where, properties& outer, properties& inner, bool& nothing) {
    for (;;) {
        if (!c_.skip_to_content(false)) return false;
        if (inner.any && c_.fresh()) {
            if (!combine(outer, inner, outer)) return false;
            inner = {};
        }
        // A list may stand at the column of the key it belongs to.
        const bool beside = where == after::key || where == after::mark;
        const bool list = beside && c_.fresh() && c_.column() == indent && c_.at_indicator('-');
        const bool outside = c_.fresh() && c_.column() <= indent && !list;
        nothing = c_.at_end() || c_.at_boundary() || outside;
        if (nothing || (c_.peek() != '&' && c_.peek() != '!')) return true;
        if (!property(inner, false)) return false;
    }
}

bool yaml_reader::block_content(int indent, after where, const properties& outer, const properties& inner, node& out) {
    const bool fresh = inner.any ? inner.fresh : c_.fresh();
    const bool may_open = fresh || where == after::dash || where == after::mark;
    const bool list = c_.at_indicator('-');
    if (list || c_.at_indicator('?')) {
        if (!may_open || inner.any) {
            return c_.wrong(list ? "a list cannot start on this line" : "an object cannot start on this line");
        }
        const bool read = list ? block_sequence(c_.column() == indent, out) : block_mapping(c_.column(), nullptr, out);
        return read && finish(outer, out);
    }
    if (c_.at_indicator(':')) return c_.wrong("expected a name before ':'");
    return block_text(indent, may_open, outer, inner, out);
}

// A scalar, an alias or brackets; or an object in block style whose first name that is.
bool yaml_reader::block_text(int indent, bool may_open, const properties& outer, const properties& inner, node& out) {
    const char first = c_.peek();
    const bool brackets = first == '[' || first == '{';
    const bool alias_here = first == '*';
    node n;
    n.place = c_.where();
    n.line = c_.line();
    const char* const start = inner.any ? inner.place : n.place;
    const int column = inner.any ? inner.column : c_.column();
    yaml_scalar text;
    const bool read = brackets ? flow_content(n) : alias_here ? alias(n) : scan(indent + 1, false, text);
    if (!read) return false;
    const auto here = c_.save();
    if (!c_.fresh()) c_.skip_blanks();
    if (c_.fresh() || !c_.at_indicator(':')) {
        c_.restore(here);
        properties all;
        if (!combine(outer, inner, all)) return false;
        if (alias_here && all.any) return c_.wrong_at(n.place, "an alias cannot have an anchor or a tag");
        if (!brackets && !alias_here && !resolve(all, text, n.place, n)) return false;
        out = n;
        return finish(all, out);
    }
    if (!may_open || !key_ended(start, n.line)) {
        return c_.wrong("unexpected ':' (quote a value that contains ': ', or check the indentation)");
    }
    if (brackets) return c_.wrong_at(n.place, "a list or an object cannot be the name of a member");
    if (alias_here && inner.any) return c_.wrong_at(n.place, "an alias cannot have an anchor or a tag");
    if (!alias_here && !resolve(inner, text, n.place, n)) return false;
    return finish(inner, n) && block_mapping(column, &n, out) && finish(outer, out);
}

// To the next entry of a collection at `column`.
bool yaml_reader::next_entry(int column, bool& more) {
    more = false;
    if (!c_.skip_to_content(false)) return false;
    if (c_.at_end() || c_.at_boundary()) return true;
    if (!c_.fresh()) return c_.wrong("unexpected text after a value");
    if (c_.column() > column) return c_.wrong("this line is indented further than those it follows");
    more = c_.column() == column;
    return true;
}

bool yaml_reader::block_sequence(bool beside_keys, node& out) {
    const int column = c_.column();
    frame f;
    if (!open(f)) return false;
    bool more = true;
    while (more) {
        c_.advance();
        node item;
        if (!block_node(column, after::dash, item) || !add_item(f, item) || !next_entry(column, more)) return false;
        if (more && !c_.at_indicator('-')) {
            if (!beside_keys) return c_.wrong("expected '-' before the next entry of the list");
            more = false;
        }
    }
    return close(kind::array, f, out);
}

bool yaml_reader::block_mapping(int column, const node* first_key, node& out) {
    frame f;
    if (!open(f)) return false;
    bool more = true;
    while (more) {
        if (!block_member(column, first_key, f) || !next_entry(column, more)) return false;
        first_key = nullptr;
        if (more && c_.at_indicator('-')) return c_.wrong("an entry of a list among the members of an object");
    }
    return close(kind::object, f, out);
}

bool yaml_reader::block_member(int column, const node* first_key, frame& f) {
    node key;
    node v;
    if (first_key == nullptr && c_.at_indicator('?')) {
        const char* const place = c_.where();
        c_.advance();
        if (!block_node(column, after::mark, key) || !c_.skip_to_content(false)) return false;
        key.place = place;
        if (c_.fresh() && c_.column() == column && c_.at_indicator(':')) {
            c_.advance();
            if (!block_node(column, after::mark, v)) return false;
        } else if (!empty({}, v)) {
            return false;
        }
        return add_member(f, key, v);
    }
    if (first_key != nullptr) {
        key = *first_key;
    } else if (!block_key(key)) {
        return false;
    }
    c_.advance();
    return block_node(column, after::key, v) && add_member(f, key, v);
}

// A name up to its colon.
bool yaml_reader::block_key(node& key) {
    const char* const line = c_.line();
    const char* const start = c_.where();
    properties p;
    while (c_.peek() == '&' || c_.peek() == '!') {
        if (!property(p, false)) return false;
        c_.skip_blanks();
        if (c_.at_break() || c_.at_end()) return c_.wrong("expected a name after an anchor or a tag");
    }
    key.place = c_.where();
    key.line = line;
    if (c_.at_indicator(':')) return c_.wrong("expected a name before ':'");
    yaml_scalar text;
    if (c_.peek() == '[' || c_.peek() == '{') return c_.wrong("a list or an object cannot be the name of a member");
    if (c_.peek() == '*') {
        if (p.any) return c_.wrong("an alias cannot have an anchor or a tag");
        if (!alias(key)) return false;
    } else if (!scan(c_.column() + 1, false, text) || !resolve(p, text, key.place, key)) {
        return false;
    }
    c_.skip_blanks();
    if (!key_ended(start, line) || !c_.at_indicator(':')) {
        return c_.wrong_at(key.place, "expected ':' after a name, or an indentation like that of the lines above");
    }
    return finish(p, key);
}

}  // namespace cotrain::api
