// The cluster's token issuer: its name and its published keys, fetched from the API server and followed as they rotate.
#pragma once

#include <chrono>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "serve/jwt.hpp"

namespace cotrain::serve {

class issuer_keys {
   public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::minutes keep{5};        // keys that were withdrawn stop working after this
    static constexpr std::chrono::seconds ask_again{10};  // for a key that is not known, at most this often

    issuer_keys(kube::client& api, base::logger& log) : api_(api), log_(log) {}

    // Nothing, or why the token is not to be believed (errc::auth), or that the keys cannot be had.
    [[nodiscard]] awaitable<base::result<>> verify(token t, std::string audience, std::string ns);

   private:
    [[nodiscard]] awaitable<base::result<>> fetch();

    kube::client& api_;
    base::logger& log_;
    std::string issuer_;
    key_set keys_;
    clock::time_point asked_{};  // when the keys were last asked for …
    clock::time_point got_{};    // … and had
};

}  // namespace cotrain::serve
