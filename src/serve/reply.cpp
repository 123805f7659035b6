#include "serve/reply.hpp"

#include "base/json_text.hpp"

namespace cotrain::serve {

namespace {

std::string_view trim(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

// The part of `text` before `mark`; what follows stays in `text`.
std::string_view take_until(std::string_view& text, char mark) {
    const auto at = text.find(mark);
    const auto part = text.substr(0, at);
    text = at == std::string_view::npos ? std::string_view{} : text.substr(at + 1);
    return trim(part);
}

bool is_zero_quality(std::string_view parameter) {
    if (!parameter.starts_with("q=")) return false;
    return parameter.substr(2).find_first_not_of("0.") == std::string_view::npos;
}

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

target split_target(std::string_view path) {
    const auto at = path.find('?');
    if (at == std::string_view::npos) return {path, {}};
    return {path.substr(0, at), path.substr(at + 1)};
}

bool has_parameter(std::string_view query, std::string_view name) {
    while (!query.empty()) {
        std::string_view pair = take_until(query, '&');
        if (take_until(pair, '=') == name) return true;
    }
    return false;
}

bool accepts(std::string_view header, std::string_view name) {
    while (!header.empty()) {
        std::string_view item = take_until(header, ',');
        if (take_until(item, ';') != name) continue;
        bool wanted = true;
        while (!item.empty()) wanted = wanted && !is_zero_quality(take_until(item, ';'));
        return wanted;
    }
    return false;
}

void send(net::incoming& request, reply what) {
    net::header_list headers = std::move(what.headers);
    headers.push_back({"content-type", std::move(what.content_type)});
    headers.push_back({"x-content-type-options", "nosniff"});
    request.respond(what.status, std::move(headers), request.head().method == "HEAD" ? "" : what.body);
}

reply status_reply(int code, std::string_view reason, std::string_view message) {
    std::string body = R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)";
    base::append_json_string(body, message);
    body += R"(,"reason":)";
    base::append_json_string(body, reason);
    body += R"(,"code":)";
    base::append_json_number(body, std::int64_t{code});
    body += "}\n";
    return {.status = code, .content_type = "application/json", .body = std::move(body)};
}

reply not_found() { return {.status = 404, .body = "not found\n"}; }

bool only_reads(const net::h2::head& head) { return head.method == "GET" || head.method == "HEAD"; }

reply method_not_allowed(std::string_view allowed) {
    return {.status = 405, .body = "method not allowed\n", .headers = {{"allow", std::string(allowed)}}};
}

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
