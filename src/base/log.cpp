// Writing of log lines as JSON.
#include "base/log.hpp"

#include <unistd.h>

#include <chrono>
#include <ctime>

#include "base/error.hpp"
#include "base/json_text.hpp"
#include "base/log_output.hpp"

namespace cotrain::base {

namespace {

std::string_view name_of(level l) {
    switch (l) {
        case level::debug: return "debug";
        case level::info: return "info";
        case level::warn: return "warn";
        case level::error: return "error";
    }
    return "error";
}

// RFC 3339 with milliseconds, UTC.
void append_time(std::string& out, std::int64_t unix_ms) {
    const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
    std::tm parts{};
    ::gmtime_r(&seconds, &parts);
    char text[32];
    const std::size_t n = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &parts);
    out.append(text, n);
    const auto ms = static_cast<unsigned>(unix_ms % 1000);
    out += '.';
    out += static_cast<char>('0' + ms / 100);
    out += static_cast<char>('0' + ms / 10 % 10);
    out += static_cast<char>('0' + ms % 10);
    out += 'Z';
}

struct value_writer {
    std::string& out;
    std::size_t bytes_max;
    void operator()(std::string_view v) const {
        append_json_string(out, v.size() > bytes_max ? one_line(v, bytes_max) : v);
    }
    void operator()(std::int64_t v) const { append_json_number(out, v); }
    void operator()(double v) const { append_json_number(out, v); }
    void operator()(bool v) const { out += v ? "true" : "false"; }
};

void write_line(void* to, std::string_view line) { static_cast<line_output*>(to)->write(line); }

}  // namespace

std::string format_line(std::int64_t unix_ms, level l, std::string_view message, std::initializer_list<field> fields) {
    // Escaping at most sextuples a byte; a budget per field keeps the whole line bounded whatever the fields hold.
    const std::size_t per_field = fields.size() == 0 ? 0 : log_line_bytes_max / 2 / fields.size();
    std::string line;
    line.reserve(256);
    line += R"({"time":")";
    append_time(line, unix_ms);
    line += R"(","level":")";
    line += name_of(l);
    line += R"(","msg":)";
    append_json_string(line, message);
    for (const field& f : fields) {
        line += ',';
        append_json_string(line, f.key);
        line += ':';
        std::visit(value_writer{line, per_field}, f.value);
    }
    line += "}\n";
    return line;
}

void logger::write(level l, std::string_view message, std::initializer_list<field> fields) const {
    if (!enabled(l)) return;
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    out_(context_, format_line(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), l, message, fields));
}

namespace {

limited_lines& stderr_lines() {
    static line_output output(STDERR_FILENO);
    static limited_lines lines(write_line, &output);
    return lines;
}

}  // namespace

logger& stderr_logger() {
    static logger log(limited_lines::write, &stderr_lines(), level::info);
    return log;
}

void write_suppressed_lines(bool everything) { stderr_lines().write_suppressed(everything); }

logger& null_logger() {
    static logger log([](void*, std::string_view) {}, nullptr, level::error);
    return log;
}

}  // namespace cotrain::base
