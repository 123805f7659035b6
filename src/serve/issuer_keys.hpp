// The cluster's token issuer: its name and its published keys, fetched from the API server and followed as they rotate.
// Callers that need keys that are being fetched wait for that one fetch.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "kube/pacing.hpp"
#include "serve/jwt.hpp"

namespace cotrain::serve {

class issuer_keys {
   public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::minutes keep{5};        // keys that were withdrawn stop working after this
    static constexpr std::chrono::seconds ask_again{10};  // for a key that is not known, at most this often
    static constexpr std::chrono::seconds fetch_max{10};  // from the question to the keys

    // What time it is; replaced in tests.
    struct clocks {
        std::function<clock::time_point()> steady = [] { return clock::now(); };
        std::function<std::chrono::sys_seconds()> wall = [] {
            return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
        };
    };

    issuer_keys(kube::client& api, base::logger& log) : issuer_keys(api, log, clocks{}) {}
    issuer_keys(kube::client& api, base::logger& log, clocks time) : api_(api), log_(log), time_(std::move(time)) {}

    // Nothing, or why the token is not to be believed (errc::auth), or that the keys cannot be had.
    [[nodiscard]] awaitable<base::result<>> verify(token t, std::string audience, std::string ns);

   private:
    struct fetching;
    [[nodiscard]] awaitable<void> refresh();
    [[nodiscard]] awaitable<base::result<>> fetch();
    [[nodiscard]] bool stale() const { return !got_ || time_.steady() - *got_ >= keep; }

    kube::client& api_;
    base::logger& log_;
    clocks time_;
    std::string issuer_;
    key_set keys_;
    std::optional<clock::time_point> asked_;  // when the keys were last asked for …
    std::optional<clock::time_point> got_;    // … and had
    bool fetching_ = false;
    kube::sleepers waiting_;  // for the fetch that is under way
};

}  // namespace cotrain::serve
