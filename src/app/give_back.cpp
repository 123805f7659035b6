// The kernel maps sixteen pages of a file around each that is touched: after the start nearly all of the program is
// resident, though an idle operator runs little of it.
#include "app/give_back.hpp"

#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace cotrain::app {

namespace {

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

std::size_t give_back_memory() {
    ::malloc_trim(0);
    std::size_t total = 0;
    ::dl_iterate_phdr(drop_segments, &total);
    return total;
}

}  // namespace cotrain::app
