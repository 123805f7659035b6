// A Markdown page as a reader meets it: its fenced blocks, and what the comment before each says is to be done with it.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace cotrain::test {

// A block is marked by an HTML comment on the line before it:
//   <!-- file: job.yaml -->              the text becomes that file beside the page's others
//   <!-- run -->                         "$ command" lines are run in order, the lines after each are its output;
//                                        a line "…" stands for any number of lines
//   <!-- status: job.yaml set.yaml T --> the text is the status that the operator gives at time T ("-" = no JobSet)
//   <!-- from: path -->                  the text stands in that file of the repository
//   <!-- not run: why -->
struct block {
    std::string mark;      // "file", "run", …; empty = unmarked
    std::string argument;  // what follows the colon
    std::string language;
    std::size_t line = 0;  // of the first line of text
    std::vector<std::string> text;
};

struct page {
    std::filesystem::path file;
    std::vector<std::string> lines;
    std::vector<block> blocks;

    [[nodiscard]] bool takes_part() const;
    // "docs/merge-policy.md:12"
    [[nodiscard]] std::string place(const block& b) const;
};

[[nodiscard]] page read_page(const std::filesystem::path& file);
// The rows of the first table whose header starts with that cell; cells trimmed, code marks taken off.
[[nodiscard]] std::vector<std::vector<std::string>> table(const page& p, const std::string& first_header);

[[nodiscard]] std::string read_text(const std::filesystem::path& file);
[[nodiscard]] std::string join(const std::vector<std::string>& lines);

}  // namespace cotrain::test
