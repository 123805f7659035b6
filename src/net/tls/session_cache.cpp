// Keeping and handing out resumable sessions.
#include "net/tls/session_cache.hpp"

#include <algorithm>

namespace cotrain::net::tls {
namespace {

// A certificate that has expired since must not live on through resumption.
bool peer_still_valid(const SSL_SESSION* session) {
    X509* peer = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
    return peer == nullptr || X509_cmp_current_time(X509_get0_notAfter(peer)) > 0;
}

}  // namespace

void context::session_cache::put(std::string_view server, session_ptr session) {
    auto it = std::ranges::find(servers_, server, &entry::server);
    if (it == servers_.end()) {
        if (servers_.size() == servers_max) servers_.erase(servers_.begin());
        servers_.push_back({std::string(server), {}});
    } else {
        std::rotate(it, it + 1, servers_.end());
    }
    std::vector<session_ptr>& sessions = servers_.back().sessions;
    if (sessions.size() == sessions_per_server_max) sessions.erase(sessions.begin());
    sessions.push_back(std::move(session));
}

session_ptr context::session_cache::take(std::string_view server) {
    const auto it = std::ranges::find(servers_, server, &entry::server);
    if (it == servers_.end()) return nullptr;
    std::vector<session_ptr>& sessions = it->sessions;
    while (!sessions.empty()) {
        session_ptr newest = std::move(sessions.back());
        sessions.pop_back();
        if (SSL_SESSION_is_resumable(newest.get()) != 1 || !peer_still_valid(newest.get())) continue;
        if (SSL_SESSION_get_protocol_version(newest.get()) < TLS1_3_VERSION && SSL_SESSION_up_ref(newest.get()) == 1)
            sessions.emplace_back(newest.get());
        return newest;
    }
    return nullptr;
}

}  // namespace cotrain::net::tls
