// Reads messages by a table of their fields.
#include "sim/protobuf.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "base/encoding.hpp"
#include "base/time.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::sim {
namespace {

// Made by test/controlplane/cmd/wiretypes. A line for each message, then one for each kind. A field is
// "name,number,shape": ? where nothing is said when it is empty, [ or { for a list or a map of what follows, then a
// letter or the number of a message: s text, b bytes, i integer, t truth, T time, U time with microseconds, Q quantity,
// I integer or text, R JSON, X list of texts. A field without a name is part of the message around it.
constexpr std::string_view types =
#include "sim/protobuf_types.inc"
    ;

struct field {
    std::uint64_t number = 0;
    std::string_view name;
    bool hides_empty = false;
    char many = 0;   // '[', '{'
    char shape = 0;  // 'm': a message
    std::size_t of = 0;
};
using message_type = std::vector<field>;

template <class T>
T read_number(std::string_view text) {
    T out{};
    std::from_chars(text.data(), text.data() + text.size(), out);
    return out;
}

std::string_view cut(std::string_view& text, char at) {
    const std::size_t end = std::min(text.find(at), text.size());
    const std::string_view out = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return out;
}

field read_entry(std::string_view text) {
    field out;
    out.name = cut(text, ',');
    out.number = read_number<std::uint64_t>(cut(text, ','));
    if (text.starts_with('?')) {
        out.hides_empty = true;
        text.remove_prefix(1);
    }
    if (text.starts_with('[') || text.starts_with('{')) {
        out.many = text.front();
        text.remove_prefix(1);
    }
    const bool message = text.front() >= '0' && text.front() <= '9';
    out.shape = message ? 'm' : text.front();
    if (message) out.of = read_number<std::size_t>(text);
    return out;
}

// The table, its lines found when it is first asked and each read when it is needed.
class wire_types {
   public:
    static wire_types& all() {
        static wire_types out;
        return out;
    }
    const message_type& message(std::size_t index) {
        auto& [line, made] = messages_[index];
        if (!made) {
            made.emplace();
            for (std::string_view rest = line; !rest.empty();) made->push_back(read_entry(cut(rest, ';')));
        }
        return *made;
    }
    // Null if the kind is not known.
    const message_type* find(std::string_view version, std::string_view name) {
        auto found = kinds_.find(fmt::format("{} {}", version, name));
        if (found == kinds_.end()) found = kinds_.find(fmt::format("- {}", name));
        return found == kinds_.end() ? nullptr : &message(found->second);
    }

   private:
    wire_types() {
        std::string_view rest = types;
        std::string_view line = cut(rest, '\n');
        for (; line != "kinds"; line = cut(rest, '\n')) messages_.push_back({line, std::nullopt});
        while (!rest.empty()) {
            line = cut(rest, '\n');
            const std::size_t space = line.rfind(' ');
            kinds_.emplace(line.substr(0, space), read_number<std::size_t>(line.substr(space + 1)));
        }
    }

    struct entry {
        std::string_view line;
        std::optional<message_type> made;
    };
    std::vector<entry> messages_;
    std::map<std::string, std::size_t, std::less<>> kinds_;
};

// A field on the wire: a number, or bytes.
struct wire_field {
    std::uint64_t number = 0;
    std::uint64_t value = 0;
    std::string_view bytes{};
};

class wire_reader {
   public:
    explicit wire_reader(std::string_view text) : left_(text) {}

    [[nodiscard]] bool at_end() const { return left_.empty(); }
    std::optional<wire_field> next() {
        const auto key = varint();
        if (!key) return std::nullopt;
        wire_field out{.number = *key >> 3U};
        switch (*key & 7U) {
            case 0: {
                const auto value = varint();
                if (!value) return std::nullopt;
                out.value = *value;
                return out;
            }
            case 1: return skip(8) ? std::optional{out} : std::nullopt;
            case 2: {
                const auto size = varint();
                if (!size || *size > left_.size()) return std::nullopt;
                out.bytes = left_.substr(0, *size);
                left_.remove_prefix(*size);
                return out;
            }
            case 5: return skip(4) ? std::optional{out} : std::nullopt;
            default: return std::nullopt;
        }
    }

   private:
    bool skip(std::size_t bytes) {
        if (left_.size() < bytes) return false;
        left_.remove_prefix(bytes);
        return true;
    }
    std::optional<std::uint64_t> varint() {
        std::uint64_t out = 0;
        for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(left_.front());
            left_.remove_prefix(1);
            out |= std::uint64_t{byte & 0x7fU} << shift;
            if ((byte & 0x80U) == 0) return out;
        }
        return std::nullopt;
    }

    std::string_view left_;
};

class reader {
   public:
    explicit reader(doc::arena& memory) : memory_(memory) {}

    bool read(doc::editor into, const message_type& type, std::string_view bytes, unsigned depth) {
        if (depth > protobuf_depth_max) return false;
        wire_reader wire(bytes);
        while (!wire.at_end()) {
            const auto next = wire.next();
            if (!next) return false;
            const auto known = std::ranges::find(type, next->number, &field::number);
            if (known != type.end() && !put(into, *known, *next, depth)) return false;
        }
        return true;
    }

   private:
    bool put(doc::editor into, const field& of, const wire_field& from, unsigned depth) {
        if (of.many == '{') return put_entry(into.ensure_object(of.name), of, from.bytes, depth);
        if (of.shape == 'm') {
            const doc::editor inside = of.many == '['    ? into.ensure_array(of.name).append_object()
                                       : of.name.empty() ? into
                                                         : into.ensure_object(of.name);
            return read(inside, wire_types::all().message(of.of), from.bytes, depth + 1);
        }
        const doc::ref value = read_value(of, from);
        if (of.many == '[') {
            into.ensure_array(of.name).append(value ? value : doc::ref::make_null());
        } else if (value && !(of.hides_empty && is_empty(from))) {
            into.set(of.name, value);
        }
        return good_;
    }

    // A map's entry is a message of a key and a value.
    bool put_entry(doc::editor into, const field& of, std::string_view bytes, unsigned depth) {
        wire_reader entry(bytes);
        std::string_view key;
        wire_field value;
        while (!entry.at_end()) {
            const auto part = entry.next();
            if (!part) return false;
            if (part->number == 1) key = part->bytes;
            if (part->number == 2) value = *part;
        }
        if (of.shape == 'm')
            return read(into.ensure_object(key), wire_types::all().message(of.of), value.bytes, depth + 1);
        const doc::ref made = read_value(of, value);
        into.set(key, made ? made : doc::ref::make_null());
        return good_;
    }

    static bool is_empty(const wire_field& from) { return from.value == 0 && from.bytes.empty(); }

    doc::ref text(std::string_view value) { return doc::ref::make_string(memory_.copy(value)); }

    // Absent where there is nothing to say.
    doc::ref read_value(const field& of, const wire_field& from) {
        switch (of.shape) {
            case 's': return text(from.bytes);
            case 'b': return text(base::encode_base64(from.bytes));
            case 'i': return doc::ref::make_int(memory_, static_cast<std::int64_t>(from.value));
            case 't': return doc::ref::make_bool(from.value != 0);
            case 'Q': return text(parts_of(from.bytes)[0].bytes);
            case 'T':
            case 'U': return read_time(from.bytes, of.shape == 'U');
            case 'I': {
                const auto parts = parts_of(from.bytes);
                return parts[0].value != 0 ? text(parts[2].bytes)
                                           : doc::ref::make_int(memory_, static_cast<std::int32_t>(parts[1].value));
            }
            case 'R': {
                const auto read = doc::parse_json_copy(memory_, parts_of(from.bytes)[0].bytes);
                return read ? *read : doc::ref{};
            }
            case 'X': return read_texts(from.bytes);
            default: return {};
        }
    }

    doc::ref read_time(std::string_view bytes, bool micros) {
        const auto parts = parts_of(bytes);
        const auto seconds = static_cast<std::int64_t>(parts[0].value);
        // Go's zero time too stands for none.
        if ((seconds == 0 && parts[1].value == 0) || seconds < 0 || seconds > seconds_max) return {};
        const base::seconds_time time{std::chrono::seconds{seconds}};
        if (!micros) return text(base::format_time(time));
        const std::chrono::microseconds rest{parts[1].value / 1000};
        return text(base::format_micros(base::micros_time{time} + rest));
    }

    doc::ref read_texts(std::string_view bytes) {
        doc::editor out = doc::editor::array(memory_);
        for (wire_reader wire(bytes); !wire.at_end();) {
            const auto next = wire.next();
            good_ = good_ && next.has_value();
            if (!next) break;
            out.append(next->bytes);
        }
        return out;
    }

    // The fields 1, 2 and 3 of a small message.
    std::array<wire_field, 3> parts_of(std::string_view bytes) {
        std::array<wire_field, 3> out{};
        for (wire_reader wire(bytes); !wire.at_end();) {
            const auto next = wire.next();
            good_ = good_ && next.has_value();
            if (!next) break;
            if (next->number >= 1 && next->number <= out.size()) out[next->number - 1] = *next;
        }
        return out;
    }

    static constexpr std::int64_t seconds_max = 253'402'300'799;  // 9999-12-31

    doc::arena& memory_;
    bool good_ = true;
};

}  // namespace

std::expected<doc::ref, std::string> read_protobuf(doc::arena& memory, std::string_view body) {
    // runtime.Unknown behind four bytes: 1 is the kind (1 apiVersion, 2 kind), 2 the object.
    constexpr std::string_view magic{"k8s\0", 4};
    if (!body.starts_with(magic)) return std::unexpected("the body does not begin as Kubernetes' protobuf does");
    const std::unexpected broken(std::string{"the body is no protobuf"});
    std::string_view type;
    std::string_view raw;
    for (wire_reader outer(body.substr(magic.size())); !outer.at_end();) {
        const auto next = outer.next();
        if (!next) return broken;
        if (next->number == 1) type = next->bytes;
        if (next->number == 2) raw = next->bytes;
    }
    std::string_view version;
    std::string_view name;
    for (wire_reader inner(type); !inner.at_end();) {
        const auto next = inner.next();
        if (!next) return broken;
        (next->number == 1 ? version : name) = next->bytes;
    }
    const message_type* const known = wire_types::all().find(version, name);
    if (known == nullptr)
        return std::unexpected(
            fmt::format("protobuf of a {} is not read by this server; JSON is: kubectl create ... "
                        "--dry-run=client -o yaml | kubectl apply -f -",
                        name));
    doc::editor out = doc::editor::object(memory);
    out.set("apiVersion", version).set("kind", name);
    if (!reader(memory).read(out, *known, raw, 0)) return broken;
    return out.view();
}

}  // namespace cotrain::sim
