// Reads Markdown: just the fences, comments and tables that our own pages use.
#include "docs/page.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <ranges>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace cotrain::test {
namespace {

std::string trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

// "<!-- mark: argument -->" into its two parts; nothing if the line is no comment.
std::pair<std::string, std::string> mark_of(std::string_view line) {
    constexpr std::string_view open = "<!--";
    constexpr std::string_view close = "-->";
    if (!line.starts_with(open) || !line.ends_with(close)) return {};
    const std::string_view inside = line.substr(open.size(), line.size() - open.size() - close.size());
    const auto colon = inside.find(':');
    if (colon == std::string_view::npos) return {trimmed(inside), {}};
    return {trimmed(inside.substr(0, colon)), trimmed(inside.substr(colon + 1))};
}

void find_blocks(page& p) {
    constexpr std::string_view fence = "```";
    bool inside = false;
    for (std::size_t i = 0; i < p.lines.size(); ++i) {
        const std::string& line = p.lines[i];
        if (!line.starts_with(fence)) {
            if (inside) p.blocks.back().text.push_back(line);
        } else if (std::exchange(inside, !inside)) {
            continue;
        } else {
            auto [mark, argument] = i == 0 ? std::pair<std::string, std::string>{} : mark_of(p.lines[i - 1]);
            p.blocks.push_back({std::move(mark), std::move(argument), line.substr(fence.size()), i + 2, {}});
        }
    }
    if (inside) throw std::runtime_error(p.file.string() + ": a fence is not closed");
}

std::vector<std::string> cells(std::string_view row) {
    std::vector<std::string> out;
    for (const auto part : row.substr(1, row.size() - 2) | std::views::split('|')) {
        std::string cell = trimmed(std::string_view(part));
        std::erase(cell, '`');
        out.push_back(std::move(cell));
    }
    return out;
}

}  // namespace

bool page::takes_part() const {
    return std::ranges::any_of(blocks, [](const block& b) { return !b.mark.empty(); });
}

std::string page::place(const block& b) const {
    return file.parent_path().filename().string() + "/" + file.filename().string() + ":" + std::to_string(b.line);
}

page read_page(const std::filesystem::path& file) {
    page out{file, {}, {}};
    for (const auto line : read_text(file) | std::views::split('\n')) out.lines.emplace_back(std::string_view(line));
    find_blocks(out);
    return out;
}

std::vector<std::vector<std::string>> table(const page& p, const std::string& first_header) {
    const auto is_row = [](const std::string& line) { return line.starts_with("|") && line.ends_with("|"); };
    const auto header = std::ranges::find_if(
        p.lines, [&](const auto& line) { return is_row(line) && cells(line).front() == first_header; });
    std::vector<std::vector<std::string>> rows;
    if (header == p.lines.end()) return rows;
    for (auto line = header + 2; line < p.lines.end() && is_row(*line); ++line) rows.push_back(cells(*line));
    return rows;
}

std::string read_text(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + file.string());
    return {std::istreambuf_iterator<char>(in), {}};
}

std::string join(const std::vector<std::string>& lines) {
    std::string out;
    for (const auto& line : lines) out.append(line).append("\n");
    return out;
}

}  // namespace cotrain::test
