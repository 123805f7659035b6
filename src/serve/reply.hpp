// Answers of servers: text, Status errors, and health probes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "net/http.hpp"
#include "net/server.hpp"

namespace cotrain::serve {

struct reply {
    int status = 200;
    std::string content_type = "text/plain; charset=utf-8";
    std::string body{};
    net::header_list headers{};  // beside content-type
};

// A request's path without its query, and the query.
struct target {
    std::string_view path;
    std::string_view query;
};
[[nodiscard]] target split_target(std::string_view path);
// Whether `query` has that parameter, with whatever value.
[[nodiscard]] bool has_parameter(std::string_view query, std::string_view name);

// Whether a header like Accept or Accept-Encoding takes `name`, a quality of 0 being a refusal.
[[nodiscard]] bool accepts(std::string_view header, std::string_view name);

// Sends it; a HEAD request gets no body.
void send(net::incoming& request, reply what);

// metav1.Status: how Kubernetes' endpoints say no.
[[nodiscard]] reply status_reply(int code, std::string_view reason, std::string_view message);

[[nodiscard]] reply not_found();
// 405, unless the method is one of those that only read.
[[nodiscard]] bool only_reads(const net::h2::head& head);
[[nodiscard]] reply method_not_allowed(std::string_view allowed);

// Liveness and readiness, as kubelet and people ask for them.

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
