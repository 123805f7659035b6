// Any two documents merged as any of the types that patches have: within its budget, and what comes out can be written
// and read again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "budget.hpp"
#include "doc/json.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"
#include "runtime/schema.hpp"

namespace {

using namespace cotrain;

constexpr std::string_view mark = "\n%%%\n";

void demand(bool holds) {
    if (!holds) std::abort();
}

const runtime::type_info& type_of(char choice) {
    using namespace runtime;
    switch (choice & 3) {
        case 0: return schema::pod_template;
        case 1: return schema::job_set_spec;
        case 2: return schema::pod_spec;
        default: return schema::container;
    }
}

void merge(const runtime::type_info& type, std::string_view original, std::string_view patch) {
    doc::arena memory;
    const auto below = doc::parse_json(memory, original);
    const auto above = doc::parse_json(memory, patch);
    if (!below || !above) return;
    const auto normal = runtime::normalise(memory, *above, type, "patch");
    if (!normal) return;
    const auto merged = runtime::strategic_merge(memory, *below, *normal, type);
    if (!merged) return;
    const std::string text = doc::to_json(*merged);
    demand(doc::parse_json(memory, text).has_value());
}

}  // namespace

// A byte that chooses the type, the original, a line "%%%", the patch; both JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    const runtime::type_info& type = type_of(input.front());
    fuzz::at_two_sizes(input.substr(1), [&](std::string_view text) {
        const std::size_t cut = text.find(mark);
        if (cut == std::string_view::npos) return;
        fuzz::within_budget("a merge", text.size(),
                            [&] { merge(type, text.substr(0, cut), text.substr(cut + mark.size())); });
    });
    return 0;
}
