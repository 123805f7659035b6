#include "app/diff/unified.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace cotrain::app {

namespace {

using text_lines = std::vector<std::string_view>;

text_lines split(std::string_view text) {
    text_lines out;
    while (!text.empty()) {
        const std::string_view row = text.substr(0, text.find('\n'));
        out.push_back(row);
        text.remove_prefix(std::min(text.size(), row.size() + 1));
    }
    return out;
}

// One line of the result: ' ' of both, '-' of the first, '+' of the second.
struct row {
    char how;
    std::string_view text;
};

// Myers' greedy algorithm: how far each diagonal gets with so many edits, remembered for the way back. Nothing where it
// takes too many.
class shortest {
   public:
    shortest(const text_lines& a, const text_lines& b)
        : a_(a), b_(b), a_size_(static_cast<long>(a.size())), b_size_(static_cast<long>(b.size())) {}

    bool find(std::vector<row>& out) {
        const long edits_max = std::min<long>(a_size_ + b_size_, diff_edits_max);
        for (long edits = 0; edits <= edits_max; ++edits) {
            steps_.emplace_back();
            for (long k = -edits; k <= edits; k += 2) {
                long x = edits == 0 ? 0 : step(edits, k).x;
                while (x != none && x < a_size_ && x - k < b_size_ && line(a_, x) == line(b_, x - k)) ++x;
                steps_.back().push_back(x);
                if (x != a_size_ || x - k != b_size_) continue;
                back(edits, k, out);
                return true;
            }
        }
        return false;
    }

   private:
    static constexpr long none = -1;
    struct move {
        long x;
        bool down;
    };

    static std::string_view line(const text_lines& of, long at) { return of[static_cast<std::size_t>(at)]; }

    // How far diagonal k got with so many edits.
    [[nodiscard]] long reached(long edits, long k) const {
        if (k < -edits || k > edits) return none;
        return steps_[static_cast<std::size_t>(edits)][static_cast<std::size_t>((k + edits) / 2)];
    }
    // Where the last of so many edits leads on diagonal k: a line of the second text more, or one of the first less.
    [[nodiscard]] move step(long edits, long k) const {
        const long down = reached(edits - 1, k + 1);
        const long left = reached(edits - 1, k - 1);
        const long right = left == none || left == a_size_ ? none : left + 1;
        if (down != none && down >= right && down - k <= b_size_) return {down, true};
        return {right, false};
    }

    void back(long edits, long k, std::vector<row>& out) const {
        long x = a_size_;
        for (; edits > 0; --edits) {
            const move last = step(edits, k);
            while (x > last.x) out.push_back({' ', line(a_, --x)});
            if (last.down) {
                out.push_back({'+', line(b_, x - k - 1)});
                ++k;
            } else {
                out.push_back({'-', line(a_, --x)});
                --k;
            }
        }
        while (x > 0) out.push_back({' ', line(a_, --x)});
        std::ranges::reverse(out);
    }

    const text_lines& a_;
    const text_lines& b_;
    long a_size_;
    long b_size_;
    std::vector<std::vector<long>> steps_;
};

// What both begin and end with is cut off first: the rest is mostly small.
std::vector<row> rows_of(text_lines a, text_lines b) {
    std::vector<row> begin;
    std::vector<row> end;
    while (!a.empty() && !b.empty() && a.back() == b.back()) {
        end.push_back({' ', a.back()});
        a.pop_back();
        b.pop_back();
    }
    const auto [x, y] = std::ranges::mismatch(a, b);
    for (auto at = a.begin(); at != x; ++at) begin.push_back({' ', *at});
    a.erase(a.begin(), x);
    b.erase(b.begin(), y);
    std::vector<row> between;
    if (!shortest(a, b).find(between)) {
        for (const std::string_view each : a) between.push_back({'-', each});
        for (const std::string_view each : b) between.push_back({'+', each});
    }
    begin.insert(begin.end(), between.begin(), between.end());
    begin.insert(begin.end(), end.rbegin(), end.rend());
    return begin;
}

// "1,7" of a hunk's head: of no lines the place before which they are missing.
std::string range(std::size_t first, std::size_t count) {
    if (count == 1) return std::to_string(first + 1);
    return fmt::format("{},{}", count == 0 ? first : first + 1, count);
}

}  // namespace

std::string unified_diff(std::string_view before, std::string_view after, std::string_view from, std::string_view to) {
    if (before == after) return {};
    const std::vector<row> rows = rows_of(split(before), split(after));
    const auto is_change = [](const row& r) { return r.how != ' '; };
    std::string out = fmt::format("--- {}\n+++ {}\n", from, to);
    std::size_t old_line = 0;
    std::size_t new_line = 0;
    for (std::size_t at = 0; at < rows.size();) {
        const auto next = static_cast<std::size_t>(
            std::find_if(rows.begin() + static_cast<long>(at), rows.end(), is_change) - rows.begin());
        if (next == rows.size()) break;
        const std::size_t begin = std::max(at, next - std::min(next, diff_context_lines));
        old_line += begin - at;
        new_line += begin - at;
        std::size_t end = next;
        for (std::size_t i = next; i < rows.size() && i <= end + 2 * diff_context_lines; ++i)
            if (is_change(rows[i])) end = i;
        end = std::min(rows.size(), end + 1 + diff_context_lines);
        std::string text;
        std::size_t old_count = 0;
        std::size_t new_count = 0;
        for (std::size_t i = begin; i < end; ++i) {
            text.append(1, rows[i].how).append(rows[i].text).append("\n");
            old_count += rows[i].how == '+' ? 0 : 1;
            new_count += rows[i].how == '-' ? 0 : 1;
        }
        out += fmt::format("@@ -{} +{} @@\n", range(old_line, old_count), range(new_line, new_count)) + text;
        old_line += old_count;
        new_line += new_count;
        at = end;
    }
    return out;
}

}  // namespace cotrain::app
