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
    int retry_after_seconds = 0;
};

struct opened_watch {
    watch_wish wish;
    std::chrono::seconds timeout;
    std::string content_type = "application/json";
};
// A hook_call: it is to be made, and answered in the talk; then the same question is asked again.
using response = std::variant<answer, opened_watch, hook_call>;

// What a request is called in rules and counters.
struct request_name {
    std::string verb;      // get, list, watch, create, update, patch, delete; empty where there is no resource
    std::string resource;  // plural
};
[[nodiscard]] request_name name_request(std::string_view method, std::string_view target);

inline constexpr std::chrono::seconds watch_time_default{1800};
inline constexpr std::chrono::seconds watch_time_max{7200};

// Without a talk no webhooks are asked.
[[nodiscard]] response ask(cluster& of, const question& what, api::seconds_time now, admission_talk* talk = nullptr);

}  // namespace cotrain::sim
