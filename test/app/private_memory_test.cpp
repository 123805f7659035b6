// A process that keeps its memory private leaves no core file and cannot be read by its user.
#include "app/operator/process.hpp"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

namespace cotrain::app {
namespace {

// In a child: neither can be taken back.
TEST(private_memory, leaves_no_core_and_is_not_dumpable) {
    const auto child = [] {
        keep_memory_private();
        rlimit core{1, 1};
        const bool none = ::getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0 && core.rlim_max == 0;
        ::_exit(none && ::prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 0 ? 0 : 1);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace cotrain::app
