// Any bytes as YAML: no crash, no explosion; what is read comes back from our own YAML and JSON unchanged.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "api/runtime.hpp"
#include "api/trainjob.hpp"
#include "budget.hpp"
#include "doc/yaml.hpp"

namespace {

using namespace cotrain::doc;

void demand(bool holds) {
    if (!holds) std::abort();
}

// Values, those of aliases counted each time; stops at `max`.
std::size_t count(ref document, std::size_t max) {
    std::size_t n = 1;
    for (const member& m : document.members()) {
        if (n < max) n += count(m.value, max - n);
    }
    for (const ref item : document.items()) {
        if (n < max) n += count(item, max - n);
    }
    return n;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    arena memory(std::size_t{16} << 20U);
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    cotrain::fuzz::at_two_sizes(input, [](std::string_view text) {
        cotrain::fuzz::within_budget("YAML", text.size(), [&] {
            arena some;
            (void)parse_yaml_stream(some, text);
        });
    });
    const auto list = parse_yaml_stream(memory, input);
    if (!list) {
        demand(list.error().message.starts_with("line "));
        return 0;
    }
    for (const yaml_document& document : *list) {
        constexpr std::size_t values_max = 100'000;  // what can be written in a moment
        if (count(document.value, values_max) >= values_max) continue;
        const std::string text = to_yaml(document.value);
        const auto again = parse_yaml(memory, text);
        demand(again && equal(document.value, *again));
        demand(to_yaml(*again) == text);
        const std::string json = to_json(document.value);
        const auto as_json = parse_json(memory, json);
        demand(as_json && equal(document.value, *as_json));
        (void)cotrain::api::decode_train_job(document.value);
        (void)cotrain::api::decode_training_runtime(document.value);
    }
    return 0;
}
