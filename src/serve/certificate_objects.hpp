// Certificates in Kubernetes' objects: the secret that holds them and the webhook configurations that trust them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "serve/certificate_set.hpp"

namespace cotrain::serve {

// What a Secret's data says; keys that are missing or no base64 come out empty.
[[nodiscard]] base::result<certificate_set> read_secret(std::string_view body);
// The same Secret with our keys set, everything else kept; `body` empty: a new one.
[[nodiscard]] base::result<std::string> write_secret(std::string_view body, std::string_view ns, std::string_view name,
                                                     const certificate_set& set);

// The ConfigMap that tells everybody whom to trust.
[[nodiscard]] std::string write_bundle(std::string_view ns, std::string_view name, std::string_view ca_pem);

// A (Validating|Mutating)WebhookConfiguration in which every webhook trusts `ca_pem`; nothing if they all do already.
[[nodiscard]] base::result<std::optional<std::string>> inject_authority(std::string_view body, std::string_view ca_pem);

// The field manager that wrote last to a top-level member ("data", "webhooks"), as metadata.managedFields tell it;
// empty where they do not.
[[nodiscard]] std::string last_writer(std::string_view body, std::string_view member);

}  // namespace cotrain::serve
