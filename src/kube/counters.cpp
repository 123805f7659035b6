// A short list that is searched: a client sees a dozen different outcomes.
#include "kube/counters.hpp"

#include <algorithm>
#include <array>

namespace cotrain::kube {

namespace {

// The same text with a life of its own.
std::string_view known(std::string_view method) {
    static constexpr std::array<std::string_view, 5> methods{"GET", "PATCH", "POST", "PUT", "DELETE"};
    const auto* const found = std::ranges::find(methods, method);
    return found == methods.end() ? "other" : *found;
}

}  // namespace

void request_counters::add(std::string_view method, int code) {
    const int shown = code >= 100 && code <= 599 ? code : 0;
    for (request_count& one : counts_) {
        if (one.code != shown || one.method != known(method)) continue;
        ++one.count;
        return;
    }
    counts_.push_back({known(method), shown, 1});
}

}  // namespace cotrain::kube
