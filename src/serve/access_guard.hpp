// Who may read the metrics: a bearer token's user by TokenReview, its right by SubjectAccessReview, both remembered
// for a moment.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "kube/client.hpp"
#include "serve/reply.hpp"

namespace cotrain::serve {

// Verdicts by a digest of what was asked, so that no token stays in memory. Pure: time is passed in.
class verdict_cache {
   public:
    using time_point = std::chrono::steady_clock::time_point;
    using digest = std::array<unsigned char, 32>;
    static constexpr std::chrono::seconds allowed_for{30};
    static constexpr std::chrono::seconds refused_for{10};
    static constexpr std::size_t entries_max = 1024;

    [[nodiscard]] static digest digest_of(std::string_view token, std::string_view path);
    // 0 when nothing is known.
    [[nodiscard]] int find(const digest& asked, time_point now) const;
    void remember(const digest& asked, int status, time_point now);
    [[nodiscard]] std::size_t size() const { return entries_.size(); }

   private:
    struct entry {
        int status;
        time_point until;
    };
    std::map<digest, entry> entries_;
};

class access_guard {
   public:
    access_guard(kube::client& api, base::logger& log) : api_(api), log_(log) {}

    // 200 for who may GET that path; otherwise 401, 403, or 503 while the API server cannot be asked.
    [[nodiscard]] awaitable<int> judge(std::string credential, std::string path);

   private:
    [[nodiscard]] awaitable<base::result<int>> ask(std::string credential, std::string path);

    kube::client& api_;
    base::logger& log_;
    verdict_cache verdicts_;
};

// The review that asks whether a user may read a path; pure.
[[nodiscard]] kube::call build_path_review(const kube::token_answer& user, std::string_view path);

}  // namespace cotrain::serve
