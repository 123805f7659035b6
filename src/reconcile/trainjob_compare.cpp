// A walk through two documents side by side.
#include "reconcile/trainjob_compare.hpp"

#include <algorithm>
#include <array>

namespace cotrain::reconcile {

namespace {

// Members that appear by themselves where nobody set them: defaults of JobSet's CRD and of its mutating webhook.
constexpr std::array filled_in{std::string_view{"groupName"},
                               std::string_view{"replicas"},
                               std::string_view{"network"},
                               std::string_view{"enableDNSHostnames"},
                               std::string_view{"publishNotReadyAddresses"},
                               std::string_view{"subdomain"},
                               std::string_view{"successPolicy"},
                               std::string_view{"startupPolicy"},
                               std::string_view{"startupPolicyOrder"},
                               std::string_view{"restartStrategy"},
                               std::string_view{"completionMode"},
                               std::string_view{"restartPolicy"},
                               std::string_view{"protocol"},
                               std::string_view{"retentionPolicy"},
                               std::string_view{"optional"},
                               std::string_view{"name"},
                               std::string_view{"service"},
                               std::string_view{"fsType"},
                               std::string_view{"readOnly"},
                               std::string_view{"iscsiInterface"},
                               std::string_view{"keyring"},
                               std::string_view{"pool"},
                               std::string_view{"user"},
                               std::string_view{"storageMode"},
                               std::string_view{"creationTimestamp"}};

bool is_nothing(api::ref value) {
    if (value.is_unset()) return true;
    if (value.is_array()) return value.empty();
    return value.is_object() &&
           std::ranges::all_of(value.members(), [](const api::member& m) { return is_nothing(m.value); });
}

bool objects_agree(api::ref wanted, api::ref found) {
    for (const api::member& m : wanted.members()) {
        if (!already_so(m.value, found.get(m.key()))) return false;
    }
    return std::ranges::all_of(found.members(), [&](const api::member& m) {
        return wanted.contains(m.key()) || is_nothing(m.value) ||
               std::ranges::find(filled_in, m.key()) != filled_in.end();
    });
}

}  // namespace

bool already_so(api::ref wanted, api::ref found) {
    if (is_nothing(wanted) && is_nothing(found)) return true;
    if (wanted.is_object() && (found.is_object() || found.is_unset())) return objects_agree(wanted, found);
    if (wanted.is_array() && found.is_array()) {
        if (wanted.size() != found.size()) return false;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!already_so(wanted.at(i), found.at(i))) return false;
        }
        return true;
    }
    return equal(wanted, found);
}

}  // namespace cotrain::reconcile
