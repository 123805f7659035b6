// Structured logging: one JSON object a line, a constant message and typed fields.
#pragma once

#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>

namespace cotrain::base {

enum class level : std::uint8_t { debug, info, warn, error };

struct field {
    std::string_view key;
    std::variant<std::string_view, std::int64_t, double, bool> value;
};

// Longer lines are cut at this many bytes; string fields share what the message leaves.
inline constexpr std::size_t log_line_bytes_max = 8 * 1024;

// Where lines go. One per process is wired by app; rooms get a reference.
class logger {
   public:
    // Receives whole lines, newline included.
    using sink = void (*)(void* context, std::string_view line);
    logger(sink out, void* context, level threshold) : out_(out), context_(context), threshold_(threshold) {}

    [[nodiscard]] bool enabled(level l) const { return l >= threshold_; }
    void set_threshold(level l) { threshold_ = l; }
    // `message` is a constant that can be searched for; what varies goes into fields.
    void write(level l, std::string_view message, std::initializer_list<field> fields = {}) const;

    void debug(std::string_view m, std::initializer_list<field> f = {}) const { write(level::debug, m, f); }
    void info(std::string_view m, std::initializer_list<field> f = {}) const { write(level::info, m, f); }
    void warn(std::string_view m, std::initializer_list<field> f = {}) const { write(level::warn, m, f); }
    void error(std::string_view m, std::initializer_list<field> f = {}) const { write(level::error, m, f); }

   private:
    sink out_;
    void* context_;
    level threshold_;
};

// A logger to standard error, and one that drops everything.
[[nodiscard]] logger& stderr_logger();
[[nodiscard]] logger& null_logger();

// One line as it is written, for tests and other sinks; `unix_ms` is the time stamp.
[[nodiscard]] std::string format_line(std::int64_t unix_ms, level l, std::string_view message,
                                      std::initializer_list<field> fields);

}  // namespace cotrain::base
