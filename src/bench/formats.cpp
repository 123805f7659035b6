#include "bench/formats.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_text.hpp"

namespace cotrain::bench {

namespace {

// Go's names of benchmarks have no spaces, and a slash begins the next part.
std::string one_word(std::string_view text) {
    std::string out;
    for (const char c : text) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
        if (plain)
            out += c;
        else if (!out.empty() && out.back() != '_')
            out += '_';
    }
    while (!out.empty() && out.back() == '_') out.pop_back();
    return out;
}

}  // namespace

std::string to_benchstat(const bench_result& result) {
    std::string out = fmt::format("pkg: cotrain-bench\ncpu: {}\n", result.machine);
    for (const controller_result& each : result.controllers) {
        std::size_t repetitions = 0;
        for (const auto& [key, values] : each.metrics) repetitions = std::max(repetitions, values.size());
        for (std::size_t i = 0; i < repetitions; ++i) {
            out += fmt::format("Benchmark{}/controller={} {}", one_word(result.load), one_word(each.name),
                               std::max<std::uint64_t>(each.traffic_jobs, 1));
            for (const bench_metric& metric : bench_metrics())
                if (const auto* const values = each.find(metric.key); values != nullptr && i < values->size())
                    out += fmt::format(" {} {}", (*values)[i], metric.key);
            out += '\n';
        }
    }
    return out;
}

std::string to_github_benchmark(const bench_result& result) {
    std::string out = "[";
    for (const controller_result& each : result.controllers) {
        for (const bench_metric& metric : bench_metrics()) {
            const auto* const values = each.find(metric.key);
            if (values == nullptr || metric.more_is_better) continue;
            const interval of = median_interval(*values);
            out += out.size() == 1 ? "\n{\"name\":" : ",\n{\"name\":";
            base::append_json_string(out, fmt::format("{}: {}", each.name, metric.key));
            out += ",\"unit\":";
            base::append_json_string(out, metric.unit.empty() ? "1" : metric.unit);
            out += fmt::format(",\"value\":{},\"range\":\"{} to {}\"}}", of.middle, of.low, of.high);
        }
    }
    return out + "\n]\n";
}

}  // namespace cotrain::bench
