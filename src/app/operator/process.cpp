#include "app/operator/process.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string_view>

#include "base/read_file.hpp"

namespace cotrain::app {

namespace {

// More descriptors than these give no server more connections: the memory of idle ones counts, too.
constexpr std::size_t shared_max = 1024;
// Where nobody says how many there are.
constexpr std::size_t usual_descriptors = 1024;

// Segments that cannot be written hold nothing but the file's bytes: they can be had again at any time.
int drop_segments(dl_phdr_info* object, std::size_t, void* total) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    for (int i = 0; i < object->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = object->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
        const std::uintptr_t first = (object->dlpi_addr + segment.p_vaddr + page - 1) / page * page;
        const std::uintptr_t last = (object->dlpi_addr + segment.p_vaddr + segment.p_filesz) / page * page;
        if (first >= last) continue;
        if (::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) == 0)
            *static_cast<std::size_t*>(total) += last - first;
    }
    return 1;  // the first object is the program itself; libraries are shared with others
}

}  // namespace

void raise_descriptor_limit() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
    files.rlim_cur = files.rlim_max;
    static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
}

std::size_t descriptors_max() {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur == RLIM_INFINITY) return usual_descriptors;
    return static_cast<std::size_t>(files.rlim_cur);
}

connection_shares share_connections(std::size_t descriptors) {
    const std::size_t sixteenth = std::max<std::size_t>(1, std::min(descriptors, shared_max) / 16);
    return {.reviews = 8 * sixteenth, .reports = 2 * sixteenth, .metrics = sixteenth, .health = sixteenth};
}

void keep_memory_private() {
    constexpr rlimit none{0, 0};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &none));  // who lowers a limit is always allowed to
    static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

std::size_t give_back_memory() {
    ::malloc_trim(0);
    std::size_t total = 0;
    ::dl_iterate_phdr(drop_segments, &total);
    return total;
}

// --- memory that it may use: a limit of any control group above ours holds for us, too
// --------------------------------

namespace {

// A file of a control group.
constexpr std::size_t group_bytes_max = 16U << 10U;

// "max", an empty file and a file that is not there set no limit; v1's "no limit" is a number near 2^63.
std::uint64_t limit_in(const std::string& path, std::uint64_t otherwise) {
    const std::string text = base::read_file(path, group_bytes_max).value_or("");
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
    const std::string groups = base::read_file(root + "/proc/self/cgroup", group_bytes_max).value_or("");
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

}  // namespace cotrain::app
