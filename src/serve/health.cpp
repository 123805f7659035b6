// Asking the checks and listing what they say, in the form of Kubernetes' own endpoints.
#include "serve/health.hpp"

namespace cotrain::serve {

namespace {

reply run(const probe& which, std::string_view only, bool verbose) {
    const std::string name = which.path.substr(which.path.find_first_not_of('/'));
    std::string list;
    bool failed = false;
    bool found = only.empty();
    for (const check& each : which.checks) {
        if (!only.empty() && each.name != only) continue;
        found = true;
        const std::string trouble = each.ask();
        failed = failed || !trouble.empty();
        list.append(trouble.empty() ? "[+]" : "[-]").append(each.name);
        list.append(trouble.empty() ? " ok\n" : " failed: " + trouble + "\n");
    }
    if (!found) return not_found();
    if (failed) return {.status = 500, .body = list + name + " check failed\n"};
    return {.status = 200, .body = verbose ? list + name + " check passed\n" : "ok"};
}

}  // namespace

reply answer_probe(const std::vector<probe>& probes, const net::h2::head& head) {
    if (!only_reads(head)) return method_not_allowed("GET, HEAD");
    const auto [path, query] = split_target(head.path);
    for (const probe& each : probes) {
        if (!path.starts_with(each.path)) continue;
        std::string_view rest = path.substr(each.path.size());
        if (!rest.empty() && !rest.starts_with('/')) continue;
        if (rest.starts_with('/')) rest.remove_prefix(1);
        return run(each, rest, has_parameter(query, "verbose"));
    }
    return not_found();
}

}  // namespace cotrain::serve
