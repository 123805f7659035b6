// Documents to JSON text, and freezing, which keeps that text.
#include <algorithm>
#include <vector>

#include "api/json.hpp"
#include "base/json_text.hpp"

namespace cotrain::api {

namespace {

struct slice {
    detail::container* body;
    std::size_t begin;
    std::size_t end;
};

// Text that needs no escaping, between quotes, and what follows them: room is asked for once.
void append_quoted(std::string& out, std::string_view text, std::string_view then = {}) {
    const std::size_t begin = out.size();
    out.resize_and_overwrite(begin + text.size() + then.size() + 2, [&](char* bytes, std::size_t size) {
        char* to = bytes + begin;
        *to++ = '"';
        to = std::ranges::copy(text, to).out;
        *to++ = '"';
        std::ranges::copy(then, to);
        return size;
    });
}

void append_scalar(std::string& out, ref v) {
    switch (v.type()) {
        case kind::boolean: out += *v.as_bool() ? "true" : "false"; return;
        case kind::number: out += v.text(); return;
        case kind::string: break;
        default: out += "null"; return;
    }
    if (v.plain()) return append_quoted(out, v.text());
    base::append_json_string(out, v.text());
}

void append_name(std::string& out, ref name) {
    if (name.plain()) return append_quoted(out, name.text(), ":");
    append_scalar(out, name);
    out += ':';
}

// With `slices`, remembers where each container's text is.
void append_value(std::string& out, ref v, std::vector<slice>* slices) {
    if (!v.is_container()) return append_scalar(out, v);
    const detail::container& body = *v.body();
    if (body.text != nullptr) {
        out.append(body.text, body.text_bytes);
        return;
    }
    const std::size_t begin = out.size();
    const bool object = v.is_object();
    out += object ? '{' : '[';
    bool first = true;
    const auto separate = [&] {
        if (!first) out += ',';
        first = false;
    };
    for (const member& m : v.members()) {
        separate();
        append_name(out, m.name);
        append_value(out, m.value, slices);
    }
    for (const ref item : v.items()) {
        separate();
        append_value(out, item, slices);
    }
    out += object ? '}' : ']';
    if (slices != nullptr) slices->push_back({v.body(), begin, out.size()});
}

std::vector<const member*> by_name(ref object) {
    std::vector<const member*> list;
    list.reserve(object.size());
    for (const member& m : object.members()) list.push_back(&m);
    std::ranges::stable_sort(list, {}, [](const member* m) { return m->key(); });
    return list;
}

void append_line(std::string& out, unsigned spaces) {
    out += '\n';
    out.append(spaces, ' ');
}

void append_indented(std::string& out, ref v, unsigned step, unsigned depth) {
    if (!v.is_container() || v.empty()) return append_value(out, v, nullptr);
    const bool object = v.is_object();
    out += object ? '{' : '[';
    bool first = true;
    const auto next = [&] {
        if (!first) out += ',';
        first = false;
        append_line(out, step * (depth + 1));
    };
    for (const member& m : v.members()) {
        next();
        append_scalar(out, m.name);
        out += ": ";
        append_indented(out, m.value, step, depth + 1);
    }
    for (const ref item : v.items()) {
        next();
        append_indented(out, item, step, depth + 1);
    }
    append_line(out, step * depth);
    out += object ? '}' : ']';
}

}  // namespace

void append_json(std::string& out, ref document) { append_value(out, document, nullptr); }

std::string to_json(ref document) {
    std::string out;
    append_json(out, document);
    return out;
}

void append_sorted_json(std::string& out, ref document) {
    if (!document.is_container()) return append_scalar(out, document);
    bool first = true;
    const auto separate = [&] {
        if (!first) out += ',';
        first = false;
    };
    out += document.is_object() ? '{' : '[';
    for (const member* m : by_name(document)) {
        separate();
        append_scalar(out, m->name);
        out += ':';
        append_sorted_json(out, m->value);
    }
    for (const ref item : document.items()) {
        separate();
        append_sorted_json(out, item);
    }
    out += document.is_object() ? '}' : ']';
}

void append_indented_json(std::string& out, ref document, unsigned indent) {
    append_indented(out, document, indent, 0);
}

ref freeze(arena& memory, ref document) {
    if (!document.is_container() || document.body()->text != nullptr) return document;
    std::string text;
    std::vector<slice> slices;
    append_value(text, document, &slices);
    const char* const kept = memory.copy(text).data();
    for (const slice& s : slices) {
        s.body->owner = nullptr;
        if (!memory.holds(s.body)) continue;  // it may outlive this arena
        s.body->text = kept + s.begin;
        s.body->text_bytes = static_cast<std::uint32_t>(s.end - s.begin);
    }
    return document;
}

}  // namespace cotrain::api
