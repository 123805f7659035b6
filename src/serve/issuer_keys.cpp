// When the keys are asked for, and what is asked.
#include "serve/issuer_keys.hpp"

#include <utility>

#include "doc/json.hpp"

namespace cotrain::serve {

namespace {

kube::call get(std::string path, std::string attempt) {
    kube::call out;
    out.http.path = std::move(path);
    out.http.idempotent = true;
    out.http.deadline = issuer_keys::fetch_max / 2;  // there are two of them
    out.attempt = std::move(attempt);
    return out;
}

}  // namespace

awaitable<base::result<>> issuer_keys::fetch() {
    asked_ = time_.steady();
    const auto description =
        co_await api_.perform(get("/.well-known/openid-configuration", "get the token issuer's description"));
    if (!description) co_return base::fail(description.error());
    const auto published = co_await api_.perform(get("/openid/v1/jwks", "get the token issuer's keys"));
    if (!published) co_return base::fail(published.error());
    auto keys = key_set::read(published->body);
    if (!keys) co_return base::fail(std::move(keys.error()));
    doc::arena memory;
    const auto document = doc::parse_json(memory, description->body);
    if (!document || document->get("issuer").as_string().empty())
        co_return base::fail(base::errc::decode, "the token issuer's description names no issuer");
    issuer_ = document->get("issuer").as_string();
    keys_ = std::move(*keys);
    got_ = time_.steady();
    log_.debug("token issuer", {{"issuer", issuer_}, {"keys", static_cast<std::int64_t>(keys_.size())}});
    co_return base::result<>{};
}

// However the fetch ends, nobody waits for it any longer.
struct issuer_keys::fetching {
    issuer_keys& by;
    explicit fetching(issuer_keys& keys) : by(keys) { by.fetching_ = true; }
    fetching(const fetching&) = delete;
    fetching& operator=(const fetching&) = delete;
    ~fetching() {
        by.fetching_ = false;
        by.waiting_.wake_all();
    }
};

awaitable<void> issuer_keys::refresh() {
    if (fetching_) {
        static_cast<void>(co_await waiting_.until(clock::now() + fetch_max));
        co_return;
    }
    if (asked_ && time_.steady() - *asked_ < ask_again) co_return;
    const fetching under_way(*this);
    if (const auto fetched = co_await fetch(); !fetched)
        log_.warn("cannot get the token issuer's keys", {{"error", fetched.error().message}});
}

awaitable<base::result<>> issuer_keys::verify(token t, std::string audience, std::string ns) {
    if (stale() || !keys_.knows(t.key_id)) co_await refresh();
    if (stale()) co_return base::fail(base::errc::connect, "the token issuer's keys are not at hand");
    if (auto ok = check_claims(t.claims, {issuer_, audience, ns}, time_.wall()); !ok) co_return ok;
    if (!keys_.verify(t)) co_return base::fail(base::errc::auth, "token: its signature is not the issuer's");
    co_return base::result<>{};
}

}  // namespace cotrain::serve
