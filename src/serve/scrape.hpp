// The metrics endpoint: gathers what others count, in the form the scraper asks for.
#pragma once

#include <functional>
#include <vector>

#include "serve/exposition.hpp"
#include "serve/reply.hpp"

namespace cotrain::serve {

// Adds whole families.
using metrics_source = std::function<void(exposition&)>;

// Answers GET /metrics: OpenMetrics and gzip on request.
[[nodiscard]] reply scrape(const std::vector<metrics_source>& sources, const net::h2::head& head);

}  // namespace cotrain::serve
