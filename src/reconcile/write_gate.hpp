// Through which every write of the reconcilers goes: only where this process leads, counted, and never later than the
// Lease allows. Others are written by those whose they are, leading or not: the Lease, events (which ask the Lease,
// too), certificates, and reviews of tokens and rights.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "kube/client.hpp"
#include "reconcile/remote.hpp"
#include "reconcile/write_permit.hpp"
#include "watch/kind.hpp"

namespace cotrain::reconcile {

// cotrain_apply_total{kind,result}; `skipped` counts objects that already were as they should be.
struct apply_counts {
    std::uint64_t applied = 0;
    std::uint64_t skipped = 0;
    std::uint64_t conflict = 0;
    std::uint64_t error = 0;
};

// JSON that also reads the same as YAML, as which the API server takes applies: line breaks and control characters that
// only YAML knows are escaped.
[[nodiscard]] std::string yaml_safe(std::string json);

// The object as it is sent, with the precondition of its apply in its metadata
// (docs/decisions/0004-apply-preconditions.md). Empty if it has no metadata.
[[nodiscard]] std::string with_precondition(std::string json, std::string_view uid);

class write_gate final : public remote {
   public:
    write_gate(kube::client& api, write_allowance may_write) : api_(api), may_write_(std::move(may_write)) {}

    [[nodiscard]] bool leading() const override { return may_write_().has_value(); }
    [[nodiscard]] awaitable<base::result<std::string>> get(target at) override;
    [[nodiscard]] awaitable<base::result<std::string>> get_whole(target at) override;
    [[nodiscard]] awaitable<base::result<std::string>> list(list_page what) override;
    [[nodiscard]] awaitable<base::result<std::string>> apply(target at, std::string body, std::string uid) override;
    [[nodiscard]] awaitable<base::result<std::string>> merge_patch(target at, std::string sub_resource,
                                                                   std::string body) override;
    using remote::remove;
    [[nodiscard]] awaitable<base::result<>> remove(target at, std::string uid, std::uint64_t version) override;

    // Writes that began and were not answered yet.
    [[nodiscard]] unsigned under_way() const { return under_way_; }
    [[nodiscard]] const apply_counts& counts(watch::kind k) const { return counts_[static_cast<std::size_t>(k)]; }

   private:
    kube::client& api_;
    write_allowance may_write_;
    std::array<apply_counts, watch::kinds> counts_{};
    unsigned under_way_ = 0;
};

}  // namespace cotrain::reconcile
