// Any bytes as pages of Pods and Events: what is said of them is one short line, and reading them costs little.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "budget.hpp"
#include "runtime/autopsy.hpp"
#include "runtime/diagnosis.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::runtime;

void demand(bool holds) {
    if (!holds) std::abort();
}

void demand_short_line(std::string_view text, std::size_t bytes_max) {
    demand(text.size() <= bytes_max);
    for (const char c : text) demand(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
}

void check_pods(std::string_view body) {
    const auto page = read_pods(body);
    if (!page) return demand_short_line(page.error().message, 300);
    demand(page->pods.size() <= reported_pods_max && page->pods.size() <= page->shown);
    for (const pod_report& p : page->pods) demand(p.containers.size() <= 2 * reported_containers_max);
    std::string starting;
    demand_short_line(diagnose_pods(*page, &starting).message, diagnosis_bytes_max);
    const auto failure = find_first_failure(*page, 0, {});
    if (!failure) return;
    const api::job_failure& f = failure->failure;
    demand(f.pods > 0 && static_cast<std::size_t>(f.pods) <= page->pods.size());
    demand_short_line(f.message, api::failure_message_bytes_max);
    constexpr std::size_t names_bytes_max = 2 * (api::failure_name_bytes_max + api::failure_word_bytes_max);
    demand_short_line(describe(*failure), names_bytes_max + api::failure_message_bytes_max + 200);
}

void check_events(std::string_view body) {
    const auto page = read_warnings(body);
    if (!page) return demand_short_line(page.error().message, 300);
    demand(page->size() <= reported_events_max);
    for (const std::string_view kind : {"Pod", "Job", "JobSet"})
        demand_short_line(diagnose_events(*page, kind, "x", {}).message, diagnosis_bytes_max);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::vector<char> copy(data, data + size);
    const std::string_view body(copy.data(), copy.size());
    fuzz::at_two_sizes(body, [](std::string_view text) {
        fuzz::within_budget("pods", text.size(), [&] { check_pods(text); });
        fuzz::within_budget("events", text.size(), [&] { check_events(text); });
    });
    return 0;
}
