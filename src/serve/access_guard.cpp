// Asking, remembering, and what a failure to ask means.
#include "serve/access_guard.hpp"

#include <openssl/sha.h>

#include <utility>

#include "base/json_text.hpp"

namespace cotrain::serve {

verdict_cache::digest verdict_cache::digest_of(std::string_view token, std::string_view path) {
    std::string text(token);
    text.append("\0", 1).append(path);
    digest out{};
    SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), out.data());
    return out;
}

int verdict_cache::find(const digest& asked, time_point now) const {
    const auto found = entries_.find(asked);
    return found == entries_.end() || found->second.until <= now ? 0 : found->second.status;
}

void verdict_cache::remember(const digest& asked, int status, time_point now) {
    if (entries_.size() >= entries_max) std::erase_if(entries_, [now](const auto& e) { return e.second.until <= now; });
    if (entries_.size() >= entries_max) entries_.clear();
    entries_[asked] = {status, now + (status == 200 ? allowed_for : refused_for)};
}

kube::call build_path_review(const kube::token_answer& user, std::string_view path) {
    kube::call out;
    out.attempt = "ask whether " + base::one_line(user.username, 128) + " may get " + base::one_line(path, 128);
    out.http.method = "POST";
    out.http.path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    out.http.headers = {{"accept", "application/json"}, {"content-type", "application/json"}};
    out.http.idempotent = true;
    std::string& body = out.http.body;
    body = R"({"kind":"SubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{"user":)";
    base::append_json_string(body, user.username);
    body += R"(,"uid":)";
    base::append_json_string(body, user.uid);
    body += R"(,"groups":[)";
    for (const std::string& group : user.groups) {
        if (body.back() != '[') body += ',';
        base::append_json_string(body, group);
    }
    body += R"(],"nonResourceAttributes":{"verb":"get","path":)";
    base::append_json_string(body, path);
    body += "}}}";
    return out;
}

awaitable<base::result<int>> access_guard::ask(std::string credential, std::string path) {
    auto user = co_await api_.review_token(credential);
    if (!user) co_return base::fail(std::move(user.error()));
    if (!user->authenticated) co_return 401;
    auto answer = co_await api_.perform(build_path_review(*user, path));
    if (!answer) co_return base::fail(std::move(answer.error()));
    const auto access = kube::read_access_review(answer->body);
    if (!access) co_return base::fail(access.error());
    co_return access->allowed ? 200 : 403;
}

awaitable<int> access_guard::judge(std::string credential, std::string path) {
    if (credential.empty()) co_return 401;
    const auto asked = verdict_cache::digest_of(credential, path);
    if (const int known = verdicts_.find(asked, std::chrono::steady_clock::now()); known != 0) co_return known;
    const auto verdict = co_await ask(std::move(credential), std::move(path));
    if (!verdict) {
        log_.error("cannot authorize a metrics request", {{"error", verdict.error().message}});
        co_return 503;
    }
    verdicts_.remember(asked, *verdict, std::chrono::steady_clock::now());
    co_return *verdict;
}

}  // namespace cotrain::serve
