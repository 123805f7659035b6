#include "app/private_memory.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>

namespace cotrain::app {

void keep_memory_private() {
    constexpr rlimit none{0, 0};
    static_cast<void>(::setrlimit(RLIMIT_CORE, &none));  // who lowers a limit is always allowed to
    static_cast<void>(::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0));
}

}  // namespace cotrain::app
