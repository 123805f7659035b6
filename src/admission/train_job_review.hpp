// The verdict on a TrainJob: asks for what it must know of the cluster, then judges. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admission/gates.hpp"
#include "admission/lookup.hpp"
#include "api/trainjob.hpp"
#include "doc/arena.hpp"
#include "runtime/plugin_set.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::admission {

// while (auto q = review.next()) review.tell(look_up(*q));
// verdict = review.finish();
class train_job_review {
   public:
    // `job` is what default_train_job() left, `before` is null on create; all arguments outlive the review.
    train_job_review(doc::arena& memory, const api::train_job& job, const api::train_job* before,
                     const runtime::plugin_set& framework, const gates& open);

    // The change was asked for by the sub-resource scale.
    void is_by_scale() { by_scale_ = true; }

    // The next thing to look up; nothing when finish() can answer. The same question until it is answered.
    [[nodiscard]] std::optional<question> next();
    void tell(answer found);
    [[nodiscard]] runtime::verdict finish();

    // The runtime by which the job is judged: the snapshot of a job that has one. Null before it is known, and where
    // there is none.
    [[nodiscard]] const std::shared_ptr<const runtime::compiled_runtime>& runtime() const { return judged_by_; }

   private:
    // In this order; each is skipped where nothing depends on it.
    enum class stage : std::uint8_t { live_runtime, snapshot, job_set, priority_classes, done };
    using compiled = std::shared_ptr<const runtime::compiled_runtime>;

    [[nodiscard]] bool creating() const { return before_ == nullptr; }
    [[nodiscard]] bool wanted(stage s) const;
    [[nodiscard]] question ask(stage s) const;
    void advance();
    void tell_runtime(answer& found);
    void tell_snapshot(answer& found);
    void tell_job_set(answer& found);
    void choose_runtime();
    void judge(runtime::verdict& out);
    void check_trainer(runtime::verdict& out) const;
    void check_scale(runtime::verdict& out) const;
    void check_annotations(runtime::verdict& out) const;
    void warn(runtime::verdict& out) const;
    void no_runtime(runtime::verdict& out) const;

    doc::arena* memory_;
    const api::train_job* job_;
    const api::train_job* before_;
    const runtime::plugin_set* framework_;
    gates open_;
    stage stage_ = stage::live_runtime;
    bool supported_;     // runtimeRef names a kind that we serve
    bool spec_changed_;  // true on create
    bool deprecated_ = false;
    compiled live_;
    compiled snapshot_;
    compiled judged_by_;
    std::optional<api::job_set> job_set_;
    std::vector<std::string> class_names_;
    std::vector<runtime::known_class> classes_;
    bool by_scale_ = false;
    bool snapshot_unread_ = false;  // it is there, but what it says is not known
    std::string missing_why_;       // there is no runtime
    std::string trouble_;           // something could not be read: nothing can be said
};

}  // namespace cotrain::admission
