// RFC 3339, both ways.
#include "base/time.hpp"

#include <array>
#include <cstdio>

namespace cotrain::base {

namespace {

using namespace std::chrono;

struct digits_reader {
    std::string_view text;
    std::size_t at = 0;
    bool good = true;

    int number(std::size_t count) {
        int n = 0;
        for (std::size_t i = 0; i < count; ++i, ++at) {
            if (at >= text.size() || text[at] < '0' || text[at] > '9') {
                good = false;
                return 0;
            }
            n = n * 10 + (text[at] - '0');
        }
        return n;
    }
    bool take(char c) {
        if (at >= text.size() || text[at] != c) return false;
        ++at;
        return true;
    }
    void expect(char c) { good = take(c) && good; }
};

// Fraction digits beyond microseconds are dropped.
microseconds fraction(digits_reader& in) {
    int value = 0;
    int scale = 100'000;
    const std::size_t begin = in.at;
    while (in.at < in.text.size() && in.text[in.at] >= '0' && in.text[in.at] <= '9') {
        value += (in.text[in.at++] - '0') * scale;
        scale /= 10;
    }
    in.good = in.good && in.at != begin;
    return microseconds(value);
}

minutes offset(digits_reader& in) {
    if (in.take('Z')) return minutes(0);
    const bool west = in.take('-');
    if (!west) in.expect('+');
    const int h = in.number(2);
    in.expect(':');
    const int m = in.number(2);
    in.good = in.good && h < 24 && m < 60;
    return minutes((west ? -1 : 1) * (h * 60 + m));
}

struct broken_down {
    year_month_day date;
    hh_mm_ss<seconds> clock;
};

broken_down break_down(seconds_time t) {
    const auto day = floor<days>(t);
    return {year_month_day(day), hh_mm_ss<seconds>(t - day)};
}

}  // namespace

std::optional<micros_time> parse_time(std::string_view text) {
    digits_reader in{text};
    const int y = in.number(4);
    in.expect('-');
    const int mo = in.number(2);
    in.expect('-');
    const int d = in.number(2);
    in.expect('T');
    const int h = in.number(2);
    in.expect(':');
    const int mi = in.number(2);
    in.expect(':');
    const int s = in.number(2);
    const microseconds sub = in.take('.') ? fraction(in) : microseconds(0);
    const minutes east = offset(in);
    const year_month_day date{year(y), month(static_cast<unsigned>(mo)), day(static_cast<unsigned>(d))};
    if (!in.good || in.at != text.size() || !date.ok() || h > 23 || mi > 59 || s > 59) return std::nullopt;
    return micros_time(sys_days(date)) + hours(h) + minutes(mi) + seconds(s) + sub - east;
}

std::optional<seconds_time> parse_time_seconds(std::string_view text) {
    const auto t = parse_time(text);
    if (!t) return std::nullopt;
    return floor<seconds>(*t);
}

std::string format_time(seconds_time t) {
    const auto [date, clock] = break_down(t);
    std::array<char, 32> text{};
    const int length = std::snprintf(
        text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02dZ", static_cast<int>(date.year()),
        static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
        static_cast<int>(clock.minutes().count()), static_cast<int>(clock.seconds().count()));
    return {text.data(), static_cast<std::size_t>(length)};
}

std::string format_micros(micros_time t) {
    const auto whole = floor<seconds>(t);
    std::array<char, 16> sub{};
    (void)std::snprintf(sub.data(), sub.size(), ".%06dZ", static_cast<int>((t - whole).count()));
    std::string text = format_time(whole);
    text.pop_back();
    return text += sub.data();
}

}  // namespace cotrain::base
