// A call of one of the admission webhooks: an AdmissionReview in, questions about the cluster, an AdmissionReview out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "admission/gates.hpp"
#include "admission/lookup.hpp"
#include "admission/train_job_review.hpp"
#include "api/admission_review.hpp"
#include "api/trainjob.hpp"
#include "base/time.hpp"
#include "doc/arena.hpp"
#include "runtime/plugin_set.hpp"

namespace cotrain::admission {

enum class hook : std::uint8_t {
    default_train_job,
    validate_train_job,
    validate_training_runtime,
    validate_cluster_training_runtime
};

// Where the API server finds each hook; nothing for other paths.
[[nodiscard]] std::string_view path_of(hook h);
[[nodiscard]] std::optional<hook> hook_at(std::string_view path);

// Two objects of the size that etcd takes, and what is around them.
inline constexpr std::size_t review_bytes_max = 7UL * 1024 * 1024;
// What the documents of a review may take, and what is made of them: many times what objects that etcd takes need.
inline constexpr std::size_t review_memory_bytes_max = 64UL * 1024 * 1024;
// Longer texts of a refusal are cut.
inline constexpr std::size_t message_bytes_max = 32UL * 1024;
inline constexpr std::size_t cause_bytes_max = 1024;
inline constexpr std::size_t causes_max = 64;
inline constexpr std::size_t warnings_max = 32;

// Whatever the bytes are, there is a review to answer with: a malformed one is refused with code 400.
//   call c(h, std::move(body), now, framework, open);
//   while (auto q = c.next()) c.tell(look_up(*q));
//   send(c.finish());
class call {
   public:
    // Documents that need more than `memory_bytes_max` are refused.
    call(hook h, std::string body, base::seconds_time now, const runtime::plugin_set& framework, const gates& open,
         std::size_t memory_bytes_max = review_memory_bytes_max);
    call(const call&) = delete;
    call& operator=(const call&) = delete;

    [[nodiscard]] std::optional<question> next();
    void tell(answer found);
    // The answer's JSON, after the last question.
    [[nodiscard]] std::string finish();
    [[nodiscard]] const api::admission_response& response() const { return response_; }
    // What its documents hold at present.
    [[nodiscard]] std::size_t memory_bytes() const { return memory_.bytes_reserved(); }

   private:
    void begin(base::seconds_time now, const runtime::plugin_set& framework, const gates& open);
    [[nodiscard]] bool too_many();
    void default_job(base::seconds_time now);
    void review_job(const runtime::plugin_set& framework, const gates& open);
    void review_scale(const runtime::plugin_set& framework, const gates& open);
    void review_scaled(const answer& found);
    void review_runtime(const runtime::plugin_set& framework);
    [[nodiscard]] bool spec_untouched() const;
    void refuse(int code, std::string message);
    void conclude(const runtime::verdict& verdict);

    hook hook_;
    std::string body_;
    doc::arena memory_{review_memory_bytes_max};
    api::admission_request request_;
    api::admission_response response_;
    api::train_job job_;
    std::optional<api::train_job> before_;
    std::optional<train_job_review> review_;
    // Sub-resource scale: what the number of nodes is to be, of a TrainJob that is not known yet.
    struct scaling {
        const runtime::plugin_set* framework;
        gates open;
        std::int64_t nodes;
    };
    std::optional<scaling> scaling_;
};

}  // namespace cotrain::admission
