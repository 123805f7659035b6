// The host names of a job's pods, made lazily in blocks: no list of names ever exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace cotrain::runtime {

// Pod p of replica r of job j of TrainJob t is reached at "t-j-r-p.subdomain". Counts go up to 2³¹−1 each.
class endpoints {
   public:
    // Lines rendered at once; the last two digits never have to be patched.
    static constexpr std::uint32_t block_lines = 100;

    endpoints() = default;
    endpoints(std::string_view trainjob, std::string_view job, std::string_view subdomain, std::uint32_t replicas,
              std::uint32_t pods);

    [[nodiscard]] std::uint64_t size() const { return std::uint64_t{replicas_} * pods_; }
    [[nodiscard]] bool empty() const { return size() == 0; }
    // The name at that place, replicas outermost; empty beyond the end.
    [[nodiscard]] std::string at(std::uint64_t index) const;
    [[nodiscard]] std::string front() const { return at(0); }
    [[nodiscard]] std::string back() const { return empty() ? std::string{} : at(size() - 1); }
    [[nodiscard]] const std::string& prefix() const { return prefix_; }  // "t-j-"
    [[nodiscard]] const std::string& domain() const { return domain_; }  // ".subdomain"

    // Bytes of all names when each is followed by `suffix_bytes` more; the largest number if they are beyond counting.
    [[nodiscard]] std::uint64_t bytes(std::size_t suffix_bytes) const;
    // Of all names, each with its suffix, how many fit into that many bytes (counted from the first).
    [[nodiscard]] std::uint64_t fitting(std::uint64_t bytes_max, std::size_t suffix_bytes) const;

    // Every name followed by `suffix`, appended with one allocation of the exact size. False, and nothing is appended,
    // if that is more than `bytes_max`…
    [[nodiscard]] bool append_lines(std::string& out, std::string_view suffix, std::size_t bytes_max) const;
    // …or handed on block by block; see line_blocks.
    class line_blocks;
    [[nodiscard]] line_blocks blocks(std::string_view suffix) const;

   private:
    friend class line_blocks;
    std::string prefix_;
    std::string domain_;
    std::uint32_t replicas_ = 0;
    std::uint32_t pods_ = 0;
};

// Yields all lines in order, at most endpoints::block_lines of them at a time, from one small buffer.
//   for (auto lines = hosts.blocks(" slots=8\n"); !lines.done(); lines.next()) write(lines.text());
class endpoints::line_blocks {
   public:
    line_blocks(const endpoints& hosts, std::string_view suffix);

    [[nodiscard]] bool done() const { return text_.empty(); }
    // Valid until next().
    [[nodiscard]] std::string_view text() const { return text_; }
    void next();
    // Writes the lines that are left, text() included, to `out`, as far as whole blocks fit before `end`; returns where
    // the text ends.
    char* drain(char* out, const char* end);

   private:
    void begin_width();
    char* write(char* out, std::uint32_t lines) const;
    void render();

    const endpoints* hosts_;
    std::string suffix_;
    std::string template_;  // up to 100 lines of the present width, high digits to be patched
    std::string buffer_;
    std::string_view text_;
    std::size_t line_bytes_ = 0;
    std::size_t digits_at_ = 0;  // where the number of the pod starts in a line
    std::uint32_t replica_ = 0;
    std::uint32_t pod_ = 0;    // the first of the present block
    std::uint32_t width_ = 0;  // digits of the present pods
};

}  // namespace cotrain::runtime
