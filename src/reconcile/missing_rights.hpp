// Where the API server lately said that we have no right to delete something.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "reconcile/delay_queue.hpp"

namespace cotrain::reconcile {

// Rights are given by namespace, and at any time: one that was missing is tried again after a pause.
class missing_rights {
   public:
    static constexpr auto pause = std::chrono::minutes(10);
    static constexpr std::size_t namespaces_max = 1024;  // the one that was noted first is forgotten

    // Whether an error says that we may not do something, whatever it is. Admission policies answer 403 too, and mean
    // one object.
    [[nodiscard]] static bool are_told_by(const base::error& e);
    // Whether it says that we may not delete.
    [[nodiscard]] static bool told_by(const base::error& e);

    // Whether it is the first time at all.
    bool note(std::string_view ns, moment now);
    // How long not to try there; nothing: try.
    [[nodiscard]] std::optional<moment::duration> rest_of_pause(std::string_view ns, moment now) const;
    [[nodiscard]] std::size_t size() const { return since_.size(); }

   private:
    std::map<std::string, moment, std::less<>> since_;
    bool noted_ = false;
};

}  // namespace cotrain::reconcile
