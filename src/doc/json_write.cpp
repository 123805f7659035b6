// Documents to JSON text, and freezing, which keeps that text.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/json_text.hpp"
#include "doc/json.hpp"

namespace cotrain::doc {

namespace {

struct slice {
    detail::container* body;
    std::size_t begin;
    std::size_t end;
};

// Documents and scalars at the end of a text. The text is longer than what was written while the writer lives, so that
// room is asked for once a member and not once a byte.
class writer {
   public:
    explicit writer(std::string& out, std::size_t bytes_max = SIZE_MAX)
        : out_(out), begin_(out.size()), end_max_(bytes_max > SIZE_MAX - begin_ ? SIZE_MAX : begin_ + bytes_max) {
        open();
    }
    ~writer() { out_.resize(written()); }
    writer(const writer&) = delete;
    writer& operator=(const writer&) = delete;

    // Nothing more is begun then.
    [[nodiscard]] bool full() const { return written() > end_max_; }

    // With `slices`, remembers where each container's text is.
    void value(ref v, std::vector<slice>* slices) {
        if (!v.is_container()) return scalar(v);
        const detail::container& body = *v.body();
        if (body.text != nullptr) return text({body.text, body.text_bytes});
        const std::size_t begin = written();
        const bool object = v.is_object();
        byte(object ? '{' : '[');
        bool first = true;
        for (const member& m : v.members()) {
            if (full()) return;
            name(m.name, first);
            value(m.value, slices);
            first = false;
        }
        for (const ref item : v.items()) {
            if (full()) return;
            if (!first) byte(',');
            value(item, slices);
            first = false;
        }
        byte(object ? '}' : ']');
        if (slices != nullptr) slices->push_back({v.body(), begin, written()});
    }

    void scalar(ref v) {
        switch (v.type()) {
            case kind::boolean: return text(*v.as_bool() ? "true" : "false");
            case kind::number: return text(v.text());
            case kind::string: return v.plain() ? quoted(v.text()) : escaped(v.text());
            default: return text("null");
        }
    }

    void byte(char c) {
        room(1);
        *at_++ = c;
    }

    // A member's name and the colon, after a comma unless it is the first.
    void name(ref name, bool first) {
        if (!name.plain()) {
            if (!first) byte(',');
            escaped(name.text());
            return byte(':');
        }
        room(name.text().size() + 4);
        if (!first) *at_++ = ',';
        put_quoted(name.text());
        *at_++ = ':';
    }

    void text(std::string_view t) {
        room(t.size());
        at_ = std::ranges::copy(t, at_).out;
    }

   private:
    // The room that a writer begins with, where the text has it, and the least that is added.
    static constexpr std::size_t first_room = 4096;
    static constexpr std::size_t least_growth = 256;

    [[nodiscard]] std::size_t written() const { return static_cast<std::size_t>(at_ - out_.data()); }

    void open() { widen(out_.size(), std::min(out_.capacity(), out_.size() + first_room)); }

    void widen(std::size_t used, std::size_t size) {
        out_.resize(size);
        at_ = out_.data() + used;
        end_ = out_.data() + size;
    }

    void room(std::size_t bytes) {
        if (static_cast<std::size_t>(end_ - at_) >= bytes) [[likely]]
            return;
        widen(written(), written() + bytes + std::max(least_growth, written() - begin_));
    }

    void quoted(std::string_view t) {
        room(t.size() + 2);
        put_quoted(t);
    }

    void put_quoted(std::string_view t) {
        *at_++ = '"';
        at_ = std::ranges::copy(t, at_).out;
        *at_++ = '"';
    }

    void escaped(std::string_view t) {
        out_.resize(written());
        base::append_json_string(out_, t);
        widen(out_.size(), std::min(out_.capacity(), out_.size() + least_growth));
    }

    std::string& out_;
    std::size_t begin_;
    std::size_t end_max_;
    char* at_ = nullptr;
    char* end_ = nullptr;
};

std::vector<const member*> by_name(ref object) {
    std::vector<const member*> list;
    list.reserve(object.size());
    for (const member& m : object.members()) list.push_back(&m);
    std::ranges::stable_sort(list, {}, [](const member* m) { return m->key(); });
    return list;
}

void write_sorted(writer& out, ref v) {
    if (!v.is_container()) return out.scalar(v);
    bool first = true;
    out.byte(v.is_object() ? '{' : '[');
    for (const member* m : by_name(v)) {
        out.name(m->name, first);
        write_sorted(out, m->value);
        first = false;
    }
    for (const ref item : v.items()) {
        if (!first) out.byte(',');
        write_sorted(out, item);
        first = false;
    }
    out.byte(v.is_object() ? '}' : ']');
}

void write_line(writer& out, unsigned spaces) {
    out.byte('\n');
    for (unsigned i = 0; i < spaces; ++i) out.byte(' ');
}

void write_indented(writer& out, ref v, unsigned step, unsigned depth) {
    if (!v.is_container() || v.empty()) return out.value(v, nullptr);
    const bool object = v.is_object();
    out.byte(object ? '{' : '[');
    bool first = true;
    const auto next = [&] {
        if (!first) out.byte(',');
        first = false;
        write_line(out, step * (depth + 1));
    };
    for (const member& m : v.members()) {
        next();
        out.name(m.name, true);
        out.byte(' ');
        write_indented(out, m.value, step, depth + 1);
    }
    for (const ref item : v.items()) {
        next();
        write_indented(out, item, step, depth + 1);
    }
    write_line(out, step * depth);
    out.byte(object ? '}' : ']');
}

}  // namespace

void append_json(std::string& out, ref document) { writer(out).value(document, nullptr); }

std::string to_json(ref document) {
    std::string out;
    append_json(out, document);
    return out;
}

bool append_json(std::string& out, ref document, std::size_t bytes_max) {
    writer to(out, bytes_max);
    to.value(document, nullptr);
    return !to.full();
}

std::string shown_json(ref document, std::size_t bytes_max) {
    std::string text;
    (void)append_json(text, document, bytes_max);
    return base::one_line(text, bytes_max);
}

void append_sorted_json(std::string& out, ref document) {
    writer to(out);
    write_sorted(to, document);
}

void append_indented_json(std::string& out, ref document, unsigned indent) {
    writer to(out);
    write_indented(to, document, indent, 0);
}

ref freeze(arena& memory, ref document) {
    if (!document.is_container() || document.body()->text != nullptr) return document;
    std::string text;
    std::vector<slice> slices;
    {
        writer to(text, memory.bytes_max());
        to.value(document, &slices);
        if (to.full()) {
            memory.exhaust();
            return document;
        }
    }
    const char* const kept = memory.copy(text).data();
    for (const slice& s : slices) {
        s.body->owner = nullptr;
        if (!memory.holds(s.body)) continue;  // it may outlive this arena
        s.body->text = kept + s.begin;
        s.body->text_bytes = static_cast<std::uint32_t>(s.end - s.begin);
    }
    return document;
}

}  // namespace cotrain::doc
