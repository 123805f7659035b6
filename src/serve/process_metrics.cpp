// Reading /proc/self.
#include "serve/process_metrics.hpp"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string>

namespace cotrain::serve {

namespace {

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

}  // namespace

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

}  // namespace cotrain::serve
