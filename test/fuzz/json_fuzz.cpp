// Any bytes as JSON: what is read can be written, read again and frozen without becoming something else.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "budget.hpp"
#include "doc/json.hpp"

namespace {

using namespace cotrain::doc;

void demand(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    arena memory(std::size_t{16} << 20U);
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    cotrain::fuzz::at_two_sizes(input, [](std::string_view text) {
        cotrain::fuzz::within_budget("JSON", text.size(), [&] {
            arena some;
            (void)parse_json(some, text);
        });
    });
    const auto document = parse_json(memory, input);
    if (!document) {
        demand(document.error().message.starts_with("line "));
        return 0;
    }
    const std::string text = to_json(*document);
    const auto again = parse_json(memory, text);
    demand(again && identical(*document, *again));
    demand(to_json(*again) == text);
    demand(to_json(deep_copy(memory, *document)) == text);
    demand(to_json(freeze(memory, *document)) == text);
    std::string sorted;
    append_sorted_json(sorted, *document);
    const auto reordered = parse_json(memory, sorted);
    demand(reordered && equal(*document, *reordered));
    (void)cotrain::api::decode_train_job(*document);
    (void)cotrain::api::decode_training_runtime(*document);
    return 0;
}
