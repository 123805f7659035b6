// Liveness and readiness, as kubelet and people ask for them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "serve/reply.hpp"

namespace cotrain::serve {

// Empty when all is well, else why not.
struct check {
    std::string name;
    std::function<std::string()> ask;
};

struct probe {
    std::string path;  // "/readyz"
    std::vector<check> checks;
};

// "/readyz" says ok or 500; "/readyz?verbose" lists the checks; "/readyz/name" asks one of them.
[[nodiscard]] reply answer_probe(const std::vector<probe>& probes, const net::h2::head& head);

}  // namespace cotrain::serve
