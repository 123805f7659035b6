// Telling a missing right from a policy's refusal, and remembering where it is missing.
#include "reconcile/missing_rights.hpp"

#include <algorithm>
#include <utility>

namespace cotrain::reconcile {

// What every authorizer's refusal is worded like: … is forbidden: User "u" cannot delete resource "podgroups" in …
bool missing_rights::are_told_by(const base::error& e) {
    constexpr int forbidden = 403;
    const std::size_t user = e.message.find("User \"");
    return e.http_status == forbidden && user != std::string::npos &&
           e.message.find(R"(" cannot )", user) != std::string::npos;
}

bool missing_rights::told_by(const base::error& e) {
    return are_told_by(e) && e.message.contains(R"(" cannot delete resource ")");
}

bool missing_rights::note(std::string_view ns, moment now) {
    std::erase_if(since_, [now](const auto& at) { return now - at.second >= pause; });
    if (since_.size() >= namespaces_max && !since_.contains(ns)) {
        const auto earlier = [](const auto& a, const auto& b) { return a.second < b.second; };
        since_.erase(std::ranges::min_element(since_, earlier));
    }
    since_.insert_or_assign(std::string(ns), now);
    return !std::exchange(noted_, true);
}

std::optional<moment::duration> missing_rights::rest_of_pause(std::string_view ns, moment now) const {
    const auto at = since_.find(ns);
    if (at == since_.end() || now - at->second >= pause) return std::nullopt;
    return at->second + pause - now;
}

}  // namespace cotrain::reconcile
