// Reading cgroup files: a limit of any group above ours holds for us, too.
#include "base/memory_limit.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>
#include <string_view>

namespace cotrain::base {

namespace {

constexpr std::size_t file_bytes_max = 16U << 10U;

std::string read_small(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), std::fclose);
    if (!file) return {};
    std::string bytes(file_bytes_max, '\0');
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file.get()));
    return bytes;
}

// "max", an empty file and a file that is not there set no limit; v1's "no limit" is a number near 2^63.
std::uint64_t limit_in(const std::string& path, std::uint64_t otherwise) {
    const std::string text = read_small(path);
    std::uint64_t bytes = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
    return error == std::errc{} && bytes != 0 ? bytes : otherwise;
}

// In a container the path may be the host's, of which nothing is mounted but our own group as the root: what is not
// there is passed over.
std::uint64_t smallest_up(const std::string& mount, std::string path, const char* file, std::uint64_t least) {
    while (!path.empty() && path.back() == '/') path.pop_back();
    for (;;) {
        least = std::min(least, limit_in(mount + path + "/" + file, least));
        if (path.empty()) return least;
        path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
}

bool names_memory(std::string_view controllers) {
    while (!controllers.empty()) {
        const auto comma = std::min(controllers.find(','), controllers.size());
        if (controllers.substr(0, comma) == "memory") return true;
        controllers.remove_prefix(std::min(comma + 1, controllers.size()));
    }
    return false;
}

}  // namespace

std::uint64_t memory_limit(const std::string& root, std::uint64_t physical_bytes) {
    std::uint64_t least = physical_bytes;
    const std::string groups = read_small(root + "/proc/self/cgroup");
    for (std::string_view rest = groups; !rest.empty();) {
        const auto line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        // hierarchy:controllers:path, see cgroups(7).
        const auto first = line.find(':');
        const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos) continue;
        const auto controllers = line.substr(first + 1, second - first - 1);
        const std::string path(line.substr(second + 1));
        if (controllers.empty()) least = smallest_up(root + "/sys/fs/cgroup", path, "memory.max", least);
        if (names_memory(controllers))
            least = smallest_up(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes", least);
    }
    return least;
}

std::uint64_t memory_limit() {
    const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
    const auto page_bytes = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 0L));
    return memory_limit("", pages * page_bytes);
}

}  // namespace cotrain::base
