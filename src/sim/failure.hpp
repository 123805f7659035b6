// Refusals as the API server words them: metav1.Status.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "crd/check.hpp"
#include "sim/kind.hpp"
#include "sim/ownership.hpp"

namespace cotrain::sim {

struct cause {
    std::string reason;
    std::string message;
    std::string field;
};

struct failure {
    int code = 500;
    std::string reason;
    std::string message;
    std::string name{};   // details: of the object, …
    std::string group{};  // … of what it is, …
    std::string what{};   // … and its resource or kind
    std::vector<cause> causes{};
};
template <class T = void>
using outcome = std::expected<T, failure>;

[[nodiscard]] failure not_found(const kind& of, std::string_view name);
[[nodiscard]] failure already_exists(const kind& of, std::string_view name);
[[nodiscard]] failure in_conflict(const kind& of, std::string_view name, std::string_view why);
[[nodiscard]] failure stale(const kind& of, std::string_view name);  // another resourceVersion
[[nodiscard]] failure bad_request(std::string message);
[[nodiscard]] failure forbidden(const kind& of, std::string_view name, std::string_view why);
[[nodiscard]] failure unsupported_media(std::string_view type);
[[nodiscard]] failure method_not_allowed();
[[nodiscard]] failure no_such_path();
[[nodiscard]] failure expired(std::string message);
[[nodiscard]] failure internal(std::string message);
[[nodiscard]] failure invalid(const kind& of, std::string_view name, const std::vector<crd::violation>& violations);
[[nodiscard]] failure apply_conflict(const conflicts& found);

// The Status as JSON, of a failure and of a success.
[[nodiscard]] std::string to_status(const failure& what);
[[nodiscard]] std::string success_status(const kind& of, std::string_view name, std::string_view uid);

}  // namespace cotrain::sim
