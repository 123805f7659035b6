// The objects that a TrainJob may own: one table, made of what the plugins declare, from which all that depends on
// their kinds and names is derived.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "runtime/plugin_set.hpp"
#include "watch/informer.hpp"
#include "watch/kind.hpp"

namespace cotrain::reconcile {

struct child_type : runtime::child {
    watch::kind of{};

    [[nodiscard]] bool is_secret() const { return of == watch::kind::secret; }
    [[nodiscard]] bool needed(const runtime::compiled_runtime& r) const { return needed_by != nullptr && needed_by(r); }
};

// In the order of the plugins; the snapshot first.
class child_types {
   public:
    static constexpr std::size_t size_max = 64;

    // The plugins are those that check_plugins() let pass.
    explicit child_types(const runtime::plugin_set& plugins);

    [[nodiscard]] auto begin() const { return all_.begin(); }
    [[nodiscard]] auto end() const { return all_.end(); }
    [[nodiscard]] std::size_t size() const { return all_.size(); }
    [[nodiscard]] const child_type& operator[](std::size_t index) const { return all_[index]; }
    [[nodiscard]] const child_type& snapshot() const { return all_.front(); }
    // Whether a runtime has children that are about the Pods of the JobSet.
    [[nodiscard]] bool any_needed(const runtime::compiled_runtime& r) const {
        return std::ranges::any_of(all_, [&](const child_type& c) { return c.needed(r); });
    }
    // Kinds of children beside the JobSet, each once.
    [[nodiscard]] const std::vector<watch::kind>& kinds() const { return kinds_; }

   private:
    std::vector<child_type> all_;
    std::vector<watch::kind> kinds_;
};

// Whether the operator can do what plugins declare: it looks only at kinds of which it keeps records. The error names
// the kind.
[[nodiscard]] base::result<> check_plugins(const runtime::plugin_set& plugins);

// Known by metadata alone: any new version may mean a change.
[[nodiscard]] constexpr bool is_file(watch::kind of) {
    return of == watch::kind::config_map || of == watch::kind::secret;
}
// What the informers follow for these plugins.
[[nodiscard]] watch::kind_set kinds_to_watch(const runtime::plugin_set& plugins);
// How names end of such children: watch::informers_options::child_suffixes.
[[nodiscard]] std::vector<std::string_view> file_suffixes(const runtime::plugin_set& plugins);

}  // namespace cotrain::reconcile
