// The words for a bound that was met.
#include "runtime/bounds.hpp"

#include <string>

namespace cotrain::runtime {

base::result<> check_memory(const api::arena& memory) {
    if (!memory.exceeded()) return {};
    return base::fail(base::errc::too_large, "the TrainJob and its runtime need more than the " +
                                                 std::to_string(memory.bytes_max()) + " bytes that a plan may take");
}

}  // namespace cotrain::runtime
