// Writing of metric families, their escapes and numbers.
#include "serve/exposition.hpp"

#include <charconv>
#include <cmath>

namespace cotrain::serve {

namespace {

constexpr std::string_view total = "_total";

void append_escaped(std::string& out, std::string_view text, bool quotes) {
    for (const char c : text) {
        if (c == '\\') {
            out += "\\\\";
        } else if (c == '\n') {
            out += "\\n";
        } else if (c == '"' && quotes) {
            out += "\\\"";
        } else {
            out += c;
        }
    }
}

std::string_view to_text(metric_type type) {
    switch (type) {
        case metric_type::counter: return "counter";
        case metric_type::gauge: return "gauge";
        case metric_type::histogram: return "histogram";
        case metric_type::summary: break;
    }
    return "summary";
}

}  // namespace

std::string_view content_type(text_format format) {
    return format == text_format::prometheus ? "text/plain; version=0.0.4; charset=utf-8"
                                             : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

void exposition::family(std::string_view name, metric_type type, std::string_view help) {
    name_ = name;
    std::string_view shown = name;
    if (format_ == text_format::openmetrics && type == metric_type::counter && shown.ends_with(total))
        shown.remove_suffix(total.size());
    text_.append("# HELP ").append(shown).append(" ");
    append_escaped(text_, help, format_ == text_format::openmetrics);
    text_.append("\n# TYPE ").append(shown).append(" ").append(to_text(type)).append("\n");
}

void exposition::sample(labels with, double value) { line({}, with, {}, value); }

void exposition::histogram(labels with, std::span<const double> bounds, std::span<const std::uint64_t> counts,
                           double sum) {
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < counts.size(); ++i) {
        below += counts[i];
        std::string bound;
        if (i < bounds.size()) {
            std::swap(bound, text_);
            number(bounds[i], true);
            std::swap(bound, text_);
        } else {
            bound = "+Inf";
        }
        line("_bucket", with, bound, static_cast<double>(below));
    }
    line("_sum", with, {}, sum);
    line("_count", with, {}, static_cast<double>(below));
}

void exposition::summary(labels with, double sum, std::uint64_t count) {
    line("_sum", with, {}, sum);
    line("_count", with, {}, static_cast<double>(count));
}

void exposition::line(std::string_view suffix, labels with, std::string_view bound, double value) {
    text_.append(name_).append(suffix);
    char before = '{';
    for (const auto& [key, text] : with) {
        text_ += std::exchange(before, ',');
        text_.append(key).append("=\"");
        append_escaped(text_, text, true);
        text_ += '"';
    }
    if (!bound.empty()) {
        text_ += std::exchange(before, ',');
        text_.append("le=\"").append(bound).append("\"");
    }
    if (before == ',') text_ += '}';
    text_ += ' ';
    number(value, false);
    text_ += '\n';
}

// OpenMetrics wants its bounds with a point.
void exposition::number(double value, bool as_bound) {
    if (std::isnan(value)) {
        text_ += "NaN";
        return;
    }
    if (std::isinf(value)) {
        text_ += value > 0 ? "+Inf" : "-Inf";
        return;
    }
    char digits[32];
    const auto [end, code] = std::to_chars(digits, digits + sizeof digits, value);
    static_cast<void>(code);  // 32 bytes hold every double
    const std::string_view text(digits, static_cast<std::size_t>(end - digits));
    text_ += text;
    if (as_bound && format_ == text_format::openmetrics && text.find_first_of(".e") == std::string_view::npos)
        text_ += ".0";
}

std::string exposition::finish() {
    if (format_ == text_format::openmetrics) text_ += "# EOF\n";
    return std::move(text_);
}

}  // namespace cotrain::serve
