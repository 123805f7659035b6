#include "app/nearest.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace cotrain::app {

namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

}  // namespace

// By rows of the usual table: the one under way, and the two before it.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t none_above) {
    const std::size_t far = none_above + 1;
    if (a.size() > nearest_word_max || b.size() > nearest_word_max) return far;
    if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > none_above) return far;
    std::array<std::array<std::size_t, nearest_word_max + 1>, 3> rows{};
    auto *before = &rows[0], *above = &rows[1], *now = &rows[2];
    for (std::size_t j = 0; j <= b.size(); ++j) (*above)[j] = j;
    for (std::size_t i = 1; i <= a.size(); ++i) {
        (*now)[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const bool same = lower(a[i - 1]) == lower(b[j - 1]);
            (*now)[j] = std::min({(*above)[j] + 1, (*now)[j - 1] + 1, (*above)[j - 1] + (same ? 0 : 1)});
            const bool exchanged =
                i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1]);
            if (exchanged) (*now)[j] = std::min((*now)[j], (*before)[j - 2] + 1);
        }
        std::swap(before, above);
        std::swap(above, now);
    }
    return std::min((*above)[b.size()], far);
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
    std::string_view best;
    std::size_t best_distance = nearest_word_max;
    for (const std::string_view each : known.first(std::min(known.size(), nearest_words_max))) {
        const std::size_t allowed = std::max<std::size_t>(1, each.size() / 3);
        const std::size_t distance = edit_distance(word, each, allowed);
        if (distance > allowed || distance >= best_distance) continue;
        best = each;
        best_distance = distance;
    }
    return best;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
    const std::string_view best = nearest(word, known);
    return best.empty() ? std::string() : "; did you mean \"" + std::string(best) + "\"?";
}

}  // namespace cotrain::app
