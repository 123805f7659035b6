// Parsing of Warning headers and remembering of what was said.
#include "kube/warning.hpp"

#include "base/error.hpp"

namespace cotrain::kube {

namespace {

void skip_spaces(std::string_view& text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
}

std::string_view take_word(std::string_view& text) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(end);
    skip_spaces(text);
    return word;
}

// A quoted-string with its escapes taken out; false if there is none.
bool take_quoted(std::string_view& text, std::string& out) {
    if (!text.starts_with('"')) return false;
    std::size_t i = 1;
    for (; i < text.size() && text[i] != '"'; ++i) {
        if (text[i] == '\\' && i + 1 < text.size()) ++i;
        out += text[i];
    }
    if (i >= text.size()) return false;
    text.remove_prefix(i + 1);
    skip_spaces(text);
    return true;
}

// One header can hold several: 299 - "a", 299 - "b" "date".
void read_values(std::string_view text, std::vector<std::string>& out) {
    while (out.size() < warnings_of_one_answer_max) {
        skip_spaces(text);
        const std::string_view code = take_word(text);
        take_word(text);  // the agent: "-"
        std::string said;
        std::string date;
        if (!take_quoted(text, said)) return;
        take_quoted(text, date);
        if (code == "299") out.push_back(base::one_line(said, warning_bytes_max));
        if (!text.starts_with(',')) return;
        text.remove_prefix(1);
    }
}

}  // namespace

std::vector<std::string> read_warnings(const net::header_list& headers) {
    std::vector<std::string> found;
    for (const net::header& h : headers)
        if (h.name == "warning") read_values(h.value, found);
    return found;
}

void warning_log::note(const net::header_list& headers, std::string_view attempt) {
    if (net::find_header(headers, "warning").empty()) return;
    for (std::string& text : read_warnings(headers)) {
        if (seen_.size() >= warnings_remembered_max || seen_.contains(text)) continue;
        log_.warn("warning from the API server", {{"warning", text}, {"during", attempt}});
        seen_.insert(std::move(text));
        if (seen_.size() == warnings_remembered_max)
            log_.warn("too many different warnings from the API server: further ones are not logged");
    }
}

}  // namespace cotrain::kube
