// The API server's HTTP face, without HTTP: questions in, answers and watches out.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/time.hpp"
#include "sim/address.hpp"
#include "sim/cluster.hpp"
#include "sim/watcher.hpp"

namespace cotrain::sim {

struct question {
    std::string_view method;
    std::string_view target;  // path and query
    std::string_view accept{};
    std::string_view content_type{};
    std::string_view user_agent{};
    std::string_view body{};
};

struct answer {
    int status = 200;
    std::string body{};
    std::string content_type = "application/json";
    std::vector<std::string> warnings{};
};

struct opened_watch {
    watch_wish wish;
    std::chrono::seconds timeout;
    std::string content_type = "application/json";
};
using response = std::variant<answer, opened_watch>;

inline constexpr std::chrono::seconds watch_time_default{1800};
inline constexpr std::chrono::seconds watch_time_max{7200};

[[nodiscard]] response ask(cluster& of, const question& what, api::seconds_time now);

}  // namespace cotrain::sim
