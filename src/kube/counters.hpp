// Counts of requests by method and outcome, for the rest_client_* metrics.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace cotrain::kube {

struct request_count {
    std::string_view method;  // "GET", …; "other" for what we never send
    int code = 0;             // HTTP status; 0: no answer
    std::uint64_t count = 0;
};

// At most one entry for each of six methods and 501 outcomes, so it is bounded whatever a server answers.
class request_counters {
   public:
    void add(std::string_view method, int code);
    [[nodiscard]] const std::vector<request_count>& all() const { return counts_; }

   private:
    std::vector<request_count> counts_;
};

}  // namespace cotrain::kube
