// Writes YAML in block style down to where nothing is described any more, and in flow style below.
#include "layout.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "doc/json.hpp"

namespace cotrain::crdgen {
namespace {

using doc::member;
using doc::ref;

constexpr std::size_t columns_max = 140;

// Whether YAML reads the text as the string that it is, inside of brackets as well.
bool is_plain(std::string_view text) {
    static constexpr std::string_view words[] = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
    const auto inner = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '/';
    };
    if (text.empty() || std::isalpha(static_cast<unsigned char>(text.front())) == 0) return false;
    if (!std::ranges::all_of(text, inner)) return false;
    std::string lower{text};
    std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return std::ranges::find(words, lower) == std::end(words);
}

std::string scalar(ref value) {
    return value.is_string() && is_plain(value.text()) ? std::string{value.text()} : doc::to_json(value);
}

bool is_described(ref value) {
    if (value.is_object() && value.get("description").is_string()) return true;
    const auto below = [](const member& m) { return is_described(m.value); };
    return value.is_object() ? std::ranges::any_of(value.members(), below)
                             : std::ranges::any_of(value.items(), is_described);
}

class writer {
   public:
    void block(ref value, std::size_t indent) {
        for (const member& m : value.members()) entry(m, indent);
    }
    [[nodiscard]] std::string take() { return std::move(out_); }

   private:
    void entry(const member& m, std::size_t indent) {
        out_.append(indent, ' ');
        out_ += scalar(m.name);
        out_ += ':';
        const bool spread = is_described(m.value) || indent < spread_indent_max;
        if (m.value.is_object() && !m.value.empty() && spread) {
            out_ += '\n';
            block(m.value, indent + 2);
        } else if (m.value.at(0).is_object()) {
            out_ += '\n';
            for (const ref item : m.value.items()) list_item(item, indent);
        } else {
            out_ += ' ';
            flow(m.value, indent + 2);
            out_ += '\n';
        }
    }

    void list_item(ref item, std::size_t indent) {
        const std::size_t start = out_.size();
        if (!item.is_object() || (item.size() <= column_members_max && !holds_objects(item))) {
            out_.append(indent, ' ');
            out_ += "- ";
            flow(item, indent + 4);
            out_ += '\n';
            return;
        }
        block(item, indent + 2);
        out_.replace(start + indent, 1, "-");
    }

    static bool holds_objects(ref item) {
        return std::ranges::any_of(item.members(), [](const member& m) { return m.value.is_container(); });
    }

    // On one line, or on several where it is long: `indent` is theirs.
    void flow(ref value, std::size_t indent) {
        if (value.is_object()) {
            brackets(value.members(), '{', '}', indent, [&](const member& m) {
                out_ += scalar(m.name) + ": ";
                flow(m.value, indent);
            });
        } else if (value.is_array()) {
            brackets(value.items(), '[', ']', indent, [&](ref item) { flow(item, indent); });
        } else {
            out_ += scalar(value);
        }
    }

    template <class L, class W>
    void brackets(const L& list, char open, char close, std::size_t indent, const W& write) {
        out_ += open;
        bool first = true;
        for (const auto& part : list) {
            if (!first) out_ += ',';
            const std::size_t line = out_.rfind('\n') + 1;
            const std::size_t mark = out_.size();
            if (!first) out_ += ' ';
            write(part);
            first = false;
            // What was just written may hold breaks of its own: only its first line counts.
            const std::size_t end = std::min(out_.find('\n', mark), out_.size());
            if (end - line > columns_max && mark - line > indent) break_line(mark, indent);
        }
        out_ += close;
    }

    void break_line(std::size_t at, std::size_t indent) {
        const bool space = at < out_.size() && out_[at] == ' ';
        out_.replace(at, space ? 1 : 0, "\n" + std::string(indent, ' '));
    }

    // The first levels of a definition are spread out whatever they hold.
    static constexpr std::size_t spread_indent_max = 4;
    // A column with so few members fits on a line.
    static constexpr std::size_t column_members_max = 5;

    std::string out_;
};

}  // namespace

std::string lay_out(ref document) {
    writer out;
    out.block(document, 0);
    return out.take();
}

}  // namespace cotrain::crdgen
