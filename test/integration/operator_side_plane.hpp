// A second control plane: with kube-controller-manager, or without any definitions.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace cotrain::test {

enum class plane { complete, bare };

// Starts with the constructor, is gone with the destructor.
class side_plane {
   public:
    // `more`: words for the launcher.
    explicit side_plane(plane what, std::vector<std::string> more = {});
    ~side_plane();
    side_plane(const side_plane&) = delete;
    side_plane& operator=(const side_plane&) = delete;

    [[nodiscard]] std::string kubeconfig() const { return dir_.path("kubeconfig"); }
    // With --audit among the words.
    [[nodiscard]] std::string audit() const { return dir_.path("audit.log"); }

   private:
    temp_dir dir_;
    pid_t pid_ = -1;
    int lifeline_ = -1;
};

}  // namespace cotrain::test
