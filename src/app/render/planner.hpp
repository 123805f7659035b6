// What the operator and the API server would make of manifests: verdicts, and the objects of each TrainJob. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "admission/gates.hpp"
#include "admission/lookup.hpp"
#include "app/render/manifests.hpp"
#include "base/error.hpp"
#include "crd/node.hpp"
#include "runtime/phases.hpp"
#include "runtime/plugin_set.hpp"

namespace cotrain::app {

// Something about a field: "spec.trainer.numNodes: Invalid value: 0: …".
struct remark {
    std::string path;  // empty: about the object
    std::string text;
};

struct opinion {
    std::vector<remark> errors;
    std::vector<remark> warnings;
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

// What fields that the definitions do not have are worth, in the API server's words.
enum class field_validation : std::uint8_t { ignore, warn, strict };

// What the operator's configuration makes of plans. Pods that report their progress are not planned: the certificate
// that they need is not in files.
struct plan_rules {
    runtime::plugin_options plugins{};
    admission::gates gates{};
};
// Of an operator without a configuration where no file is named; an error begins with the file's name.
[[nodiscard]] base::result<plan_rules> read_plan_rules(const std::string& config_file);
// Without those whose feature gate is closed.
[[nodiscard]] runtime::plugins plugins_of(const plan_rules& rules);

class planner {
   public:
    static constexpr std::size_t remarks_max = 100;

    // `ns` is the namespace of objects that name none; with `forced` objects of others are refused.
    explicit planner(std::string ns, bool forced = false, const plan_rules& rules = {},
                     field_validation fields = field_validation::warn);

    // Sorts the manifests: those of the cluster first, if there are any. They must outlive the planner.
    void observe(std::span<const manifest> list);
    void take(std::span<const manifest> list);

    [[nodiscard]] std::span<const manifest> jobs() const { return jobs_; }
    [[nodiscard]] std::span<const manifest> runtimes() const { return runtimes_; }
    // Kinds that are nobody's business here, and objects that are given twice: "job.yaml:3: …"; the first of them, and
    // how many there are.
    [[nodiscard]] std::span<const std::string> remarks() const { return remarks_; }
    [[nodiscard]] std::size_t remarks_made() const { return remarks_made_; }

    // Objects of a kind or version that no definition of ours has, and what is wrong with each.
    struct misfit {
        manifest what;
        opinion verdict;
    };
    [[nodiscard]] std::span<const misfit> misfits() const { return misfits_; }

    [[nodiscard]] opinion judge_runtime(doc::ref document);
    [[nodiscard]] job_plan plan(doc::arena& memory, const manifest& job, bool render);

   private:
    using compiled = std::shared_ptr<const runtime::compiled_runtime>;
    struct judged {
        opinion verdict;
        opinion unknown;  // fields that no definition has; without them the rest can still be judged
        doc::ref document;
    };
    [[nodiscard]] std::string namespace_of(doc::ref document) const;
    [[nodiscard]] std::string key_of(doc::ref document) const;
    void note(std::string text);
    void note_unknown_fields(const crd::node& type, const std::vector<std::string>& paths, opinion& out) const;
    void put(std::vector<manifest>& list, std::map<std::string, std::size_t>& places, const manifest& m);
    [[nodiscard]] judged judge(doc::arena& memory, doc::ref document, doc::ref before) const;
    [[nodiscard]] doc::ref with_identity(doc::arena& memory, doc::ref document) const;
    template <class F>
    void each_child(std::string_view ns, std::string_view job, const F& visit) const;
    [[nodiscard]] std::string uid_from_children(doc::ref job) const;
    [[nodiscard]] admission::answer look_up(const api::resource_type& type, std::string_view ns,
                                            std::string_view name) const;
    [[nodiscard]] base::result<compiled> runtime_for(const api::train_job& job, const compiled& judged_by) const;
    void render(doc::arena& memory, const runtime::compiled_runtime& runtime, job_plan& out) const;

    std::string ns_;
    bool forced_;
    runtime::plugins plugins_;
    admission::gates gates_;
    field_validation fields_;
    std::vector<misfit> misfits_;
    std::vector<manifest> jobs_;
    std::vector<manifest> runtimes_;
    std::vector<std::string> remarks_;
    std::size_t remarks_made_ = 0;
    std::map<std::string, std::size_t> job_places_;
    std::map<std::string, std::size_t> runtime_places_;
    std::map<std::string, doc::ref> observed_;    // by kind, namespace, name
    std::map<std::string, compiled> compiled_{};  // by the runtime's key
};

// A plan told to people: jobs, pods, endpoints, environment, gang, resources, objects.

// Several lines, ending with a newline. `memory` is scratch space.
[[nodiscard]] std::string summarise(doc::arena& memory, const job_plan& plan);

}  // namespace cotrain::app
