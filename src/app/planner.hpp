// What the operator and the API server would make of manifests: verdicts, and the objects of each TrainJob. Pure.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/lookup.hpp"
#include "app/manifests.hpp"
#include "plugins/builtin.hpp"

namespace cotrain::app {

struct opinion {
    std::vector<std::string> errors;    // "spec.trainer.numNodes: Invalid value: 0: …"
    std::vector<std::string> warnings;  // "unknown field …"
    [[nodiscard]] bool accepted() const { return errors.empty(); }
};

// What is to be rendered of one TrainJob; views into the arena it was planned in.
struct job_plan {
    opinion verdict;
    api::train_job job;
    runtime::object_list objects;
    std::string idle;  // why the operator would apply nothing, though nothing is wrong
    std::shared_ptr<const runtime::compiled_runtime> runtime;  // what `topology` looks into
    std::vector<runtime::info> topology;                       // one, of a job that can be rendered
};

class planner {
   public:
    static constexpr std::size_t remarks_max = 100;

    // `ns` is the namespace of objects that name none; with `forced` objects of others are refused.
    explicit planner(std::string ns, bool forced = false) : ns_(std::move(ns)), forced_(forced) {}

    // Sorts the manifests: those of the cluster first, if there are any. They must outlive the planner.
    void observe(std::span<const manifest> list);
    void take(std::span<const manifest> list);

    [[nodiscard]] std::span<const manifest> jobs() const { return jobs_; }
    [[nodiscard]] std::span<const manifest> runtimes() const { return runtimes_; }
    // Kinds that are nobody's business here, and objects that are given twice: "job.yaml:3: …"; the first of them, and
    // how many there are.
    [[nodiscard]] std::span<const std::string> remarks() const { return remarks_; }
    [[nodiscard]] std::size_t remarks_made() const { return remarks_made_; }

    [[nodiscard]] opinion judge_runtime(api::ref document);
    [[nodiscard]] job_plan plan(api::arena& memory, const manifest& job, bool render);

   private:
    using compiled = std::shared_ptr<const runtime::compiled_runtime>;
    struct judged {
        opinion verdict;
        api::ref document;
    };
    [[nodiscard]] std::string namespace_of(api::ref document) const;
    [[nodiscard]] std::string key_of(api::ref document) const;
    void remark(std::string text);
    void put(std::vector<manifest>& list, std::map<std::string, std::size_t>& places, const manifest& m);
    [[nodiscard]] judged judge(api::arena& memory, api::ref document, api::ref before) const;
    [[nodiscard]] api::ref with_identity(api::arena& memory, api::ref document) const;
    template <class F>
    void each_child(std::string_view ns, std::string_view job, const F& visit) const;
    [[nodiscard]] std::string uid_from_children(api::ref job) const;
    [[nodiscard]] admission::answer look_up(const api::resource_type& type, std::string_view ns,
                                            std::string_view name) const;
    [[nodiscard]] base::result<compiled> runtime_for(const api::train_job& job, const compiled& judged_by) const;
    void render(api::arena& memory, const runtime::compiled_runtime& runtime, job_plan& out) const;

    std::string ns_;
    bool forced_;
    plugins::builtin framework_;
    std::vector<manifest> jobs_;
    std::vector<manifest> runtimes_;
    std::vector<std::string> remarks_;
    std::size_t remarks_made_ = 0;
    std::map<std::string, std::size_t> job_places_;
    std::map<std::string, std::size_t> runtime_places_;
    std::map<std::string, api::ref> observed_;    // by kind, namespace, name
    std::map<std::string, compiled> compiled_{};  // by the runtime's key
};

}  // namespace cotrain::app
