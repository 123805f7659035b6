#include "serve/exposition.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "base/json_text.hpp"

namespace cotrain::serve {

namespace zlib = boost::beast::zlib;

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

std::string read_small(const char* path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "re"), std::fclose);
    if (!file) return {};
    std::array<char, 16384> bytes{};
    return {bytes.data(), std::fread(bytes.data(), 1, bytes.size(), file.get())};
}

// The n-th word of /proc/self/stat after the program's name, which may contain anything.
double stat_field(const std::string& text, int n) {
    auto at = text.rfind(") ");
    if (at == std::string::npos) return 0;
    at += 2;
    for (int i = 3; i < n && at != std::string::npos; ++i) at = text.find(' ', at) + 1;
    std::uint64_t value = 0;
    std::from_chars(text.data() + at, text.data() + text.size(), value);
    return static_cast<double>(value);
}

double boot_time() {
    const std::string text = read_small("/proc/stat");
    const auto at = text.find("\nbtime ");
    std::uint64_t value = 0;
    if (at != std::string::npos) std::from_chars(text.data() + at + 7, text.data() + text.size(), value);
    return static_cast<double>(value);
}

double open_descriptors() {
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc/self/fd"), ::closedir);
    double count = -3;                                             // ".", ".." and this folder itself
    while (folder && ::readdir(folder.get()) != nullptr) ++count;  // NOLINT(concurrency-mt-unsafe)
    return count < 0 ? 0 : count;
}

void append_le32(std::string& out, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xFFU);
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
    const std::size_t from = text_.size();
    base::append_json_number(text_, value);
    const std::string_view text = std::string_view(text_).substr(from);
    if (as_bound && format_ == text_format::openmetrics && text.find_first_of(".e") == std::string_view::npos)
        text_ += ".0";
}

std::string exposition::finish() {
    if (format_ == text_format::openmetrics) text_ += "# EOF\n";
    return std::move(text_);
}

void write_process_metrics(exposition& to) {
    constexpr auto gauge = metric_type::gauge;
    const std::string stat = read_small("/proc/self/stat");
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    const auto page = static_cast<double>(::sysconf(_SC_PAGESIZE));
    static const double booted = boot_time();
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    to.single("process_cpu_seconds_total", metric_type::counter, "User and system CPU time spent, in seconds.",
              (stat_field(stat, 14) + stat_field(stat, 15)) / ticks);
    to.single("process_resident_memory_bytes", gauge, "Resident memory size in bytes.", stat_field(stat, 24) * page);
    to.single("process_virtual_memory_bytes", gauge, "Virtual memory size in bytes.", stat_field(stat, 23));
    to.single("process_open_fds", gauge, "Number of open file descriptors.", open_descriptors());
    to.single("process_max_fds", gauge, "Maximum number of open file descriptors.",
              static_cast<double>(files.rlim_cur));
    to.single("process_start_time_seconds", gauge, "Start of the process in seconds since the Unix epoch.",
              booted + stat_field(stat, 22) / ticks);
}

std::string gzip(std::string_view text) {
    // Magic, deflate, no flags, no time, no hint, unknown system.
    std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
    const std::size_t head = out.size();
    zlib::deflate_stream deflate;
    deflate.reset(6, 15, 8, zlib::Strategy::normal);
    out.resize(head + deflate.upper_bound(text.size()));
    zlib::z_params with;
    with.next_in = text.data();
    with.avail_in = text.size();
    with.next_out = out.data() + head;
    with.avail_out = out.size() - head;
    boost::system::error_code ended;  // end_of_stream: the bound is enough for one call
    deflate.write(with, zlib::Flush::finish, ended);
    out.resize(head + with.total_out);
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    append_le32(out, crc.checksum());
    append_le32(out, static_cast<std::uint32_t>(text.size()));
    return out;
}

reply scrape(const std::vector<metrics_source>& sources, const net::h2::head& head) {
    if (!only_reads(head)) return method_not_allowed("GET, HEAD");
    const auto wanted = net::find_header(head.headers, "accept");
    const auto format =
        accepts(wanted, "application/openmetrics-text") ? text_format::openmetrics : text_format::prometheus;
    exposition text(format);
    for (const metrics_source& each : sources) each(text);
    reply out{.content_type = std::string(content_type(format)), .body = text.finish()};
    out.headers = {{"vary", "accept, accept-encoding"}};
    if (accepts(net::find_header(head.headers, "accept-encoding"), "gzip")) {
        out.body = gzip(out.body);
        out.headers.push_back({"content-encoding", "gzip"});
    }
    return out;
}

}  // namespace cotrain::serve
