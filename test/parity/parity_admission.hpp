// The webhook configurations of an installation, as an administrator would set them up, for the namespaces of cases.
#pragma once

#include <string>

#include "kube/client.hpp"

namespace cotrain::parity {

// Case namespaces carry this label; other tests' objects are nobody's business here.
inline constexpr auto case_label = "parity-case";

class admission {
   public:
    explicit admission(kube::client& api);

    // The operator's configuration file.
    [[nodiscard]] std::string config() const;
    // Before the operator starts.
    [[nodiscard]] awaitable<bool> install();
    // After: asks until a review was answered.
    [[nodiscard]] awaitable<bool> serves();
    [[nodiscard]] awaitable<void> remove();

   private:
    [[nodiscard]] std::string hook(std::string name, std::string resources, std::string path) const;

    kube::client& api_;
    std::uint16_t port_;
};

}  // namespace cotrain::parity
