// Plugins as those see them that run them: the operator, admission, render. runtime::framework makes one of a list of
// types.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/info.hpp"
#include "runtime/object.hpp"
#include "runtime/phases.hpp"
#include "runtime/status.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::runtime {

// Holds no state of a job: one may be used by many.
class plugin_set {
   public:
    plugin_set(const plugin_set&) = default;
    plugin_set& operator=(const plugin_set&) = default;
    virtual ~plugin_set() = default;

    // Everything up to the network: what the job will look like.
    [[nodiscard]] virtual base::result<info> runtime_info(doc::arena& memory, const api::train_job& job,
                                                          const compiled_runtime& runtime) const = 0;
    // All objects to apply now, in order; the snapshot first unless it exists. Nothing is to be applied on an error.
    [[nodiscard]] virtual base::result<object_list> new_objects(doc::arena& memory, const api::train_job& job,
                                                                const compiled_runtime& runtime,
                                                                const observed& seen) const = 0;
    // Verdict on a TrainJob whose runtime was found.
    [[nodiscard]] virtual verdict validate_objects(doc::arena& memory, const review& r,
                                                   const compiled_runtime& runtime) const = 0;
    // What the plugins say of a runtime; `before` is the document that an update changes.
    virtual void validate_runtime(const api::training_runtime& runtime, doc::ref before, verdict& out) const = 0;
    // PriorityClasses that such a review must know.
    [[nodiscard]] virtual std::vector<std::string> priority_classes(const info& i) const = 0;
    // The next status and what else is to be done.
    [[nodiscard]] virtual status_outcome trainjob_status(const status_input& in) const = 0;

    // What the plugins declare, those that are switched off included: their objects may be there from before. Those
    // whose feature gate is closed are not. The framework's own snapshot is the first child.
    [[nodiscard]] virtual std::span<const child> children() const = 0;
    [[nodiscard]] virtual std::span<const event_source> event_sources() const = 0;
    [[nodiscard]] virtual std::span<const permission> permissions() const = 0;

    // Whether an object of that name, which nobody controls, is used as it is. `object`: the whole of it, where it is
    // a Secret.
    [[nodiscard]] bool is_premade(const api::resource_type& type, std::string_view name, doc::ref object) const;

   protected:
    plugin_set() = default;
};

using plugins = std::shared_ptr<const plugin_set>;
// Makes them as the operator's configuration says, or tells what is wrong with it.
using plugin_maker = base::result<plugins> (*)(const plugin_options& options);

}  // namespace cotrain::runtime
