// What applying TrainJobs and runtimes would change on a cluster, as text. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "api/names.hpp"
#include "app/render/manifests.hpp"
#include "app/render/planner.hpp"
#include "doc/arena.hpp"
#include "doc/tree.hpp"

namespace cotrain::app {

// Objects of the cluster by kind, namespace and name.
class live_objects {
   public:
    void add(const api::resource_type& type, std::string_view ns, std::string_view name, doc::ref document);
    [[nodiscard]] doc::ref find(const api::resource_type& type, std::string_view ns, std::string_view name) const;
    [[nodiscard]] const std::vector<manifest>& list() const { return list_; }

   private:
    static std::string key(const api::resource_type& type, std::string_view ns, std::string_view name);
    std::map<std::string, std::size_t, std::less<>> places_;
    std::vector<manifest> list_;
};

// What `kubectl apply` makes of an object that is there: fields that its annotation says were applied before and are
// not given any more go, those of others stay.
[[nodiscard]] doc::ref applied_over(doc::arena& memory, doc::ref given, doc::ref live);

struct comparison {
    std::string out;     // unified diffs, and comments where JobSet would refuse a change
    std::string errors;  // what admission would refuse
    [[nodiscard]] int exit_code() const { return !errors.empty() ? 2 : out.empty() ? 0 : 1; }
};

// `given` has the objects as applied_over() makes them; `ns` is the namespace of those that name none.
[[nodiscard]] comparison compare(const std::vector<manifest>& given, const live_objects& live, const std::string& ns,
                                 const plan_rules& rules = {});

}  // namespace cotrain::app
