// The few requests that reconcilers make; behind it the API server, or a test.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "api/names.hpp"
#include "base/asio.hpp"
#include "base/error.hpp"

namespace cotrain::reconcile {

struct target {
    const api::resource_type* type = nullptr;
    std::string ns;
    std::string name;
};

// Answers are the API server's JSON. Writes fail with errc::canceled, unsent, where they are not ours to make.
class remote {
   public:
    virtual ~remote() = default;
    // Whether writes go through now.
    [[nodiscard]] virtual bool leading() const = 0;
    [[nodiscard]] virtual awaitable<base::result<std::string>> get(target at) = 0;
    // Server-side apply as `trainer`, forced.
    [[nodiscard]] virtual awaitable<base::result<std::string>> apply(target at, std::string body) = 0;
    [[nodiscard]] virtual awaitable<base::result<std::string>> merge_patch(target at, std::string sub_resource,
                                                                           std::string body) = 0;
    // This very object; one that is gone already counts as removed. With a version, only as it was then: 409 else.
    [[nodiscard]] virtual awaitable<base::result<>> remove(target at, std::string uid, std::uint64_t version) = 0;
    [[nodiscard]] awaitable<base::result<>> remove(target at, std::string uid) {
        return remove(std::move(at), std::move(uid), 0);
    }
};

}  // namespace cotrain::reconcile
