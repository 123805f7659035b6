// The few requests that reconcilers make; behind it the API server, or a test.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "api/names.hpp"
#include "base/asio.hpp"
#include "base/error.hpp"

namespace cotrain::reconcile {

struct target {
    const api::resource_type* type = nullptr;
    std::string ns;
    std::string name;
    std::string_view manager = api::names::field_manager;  // as whom it is applied
};

// Answers are the API server's JSON; of Secrets no more than metadata, but for one. Writes fail with errc::canceled,
// unsent, where they are not ours to make.
// One page of a collection.
struct list_page {
    const api::resource_type* type = nullptr;
    std::string ns;
    std::string label_selector;
    std::string field_selector;
    std::uint32_t items_max = 0;
};

class remote {
   public:
    virtual ~remote() = default;
    // Whether writes go through now.
    [[nodiscard]] virtual bool leading() const = 0;
    [[nodiscard]] virtual awaitable<base::result<std::string>> get(target at) = 0;
    // The one that gives a Secret with what it holds.
    [[nodiscard]] virtual awaitable<base::result<std::string>> get_whole(target at) = 0;
    // Its first page alone.
    [[nodiscard]] virtual awaitable<base::result<std::string>> list(list_page what) = 0;
    // Server-side apply. With a uid forced, to that very object; without one it makes the object, and
    // never touches one that is there: `is_another()` tells such refusals. Secrets are only ever made.
    [[nodiscard]] virtual awaitable<base::result<std::string>> apply(target at, std::string body, std::string uid) = 0;
    [[nodiscard]] virtual awaitable<base::result<std::string>> merge_patch(target at, std::string sub_resource,
                                                                           std::string body) = 0;
    // This very object; one that is gone already counts as removed. With a version, only as it was then: 409 else.
    [[nodiscard]] virtual awaitable<base::result<>> remove(target at, std::string uid, std::uint64_t version) = 0;
    [[nodiscard]] awaitable<base::result<>> remove(target at, std::string uid) {
        return remove(std::move(at), std::move(uid), 0);
    }
};

// Whether an apply was refused because of what is there: an object where none was expected, none or another one where
// one was.
[[nodiscard]] bool is_another(const base::error& refusal);

}  // namespace cotrain::reconcile
