// A second control plane: with kube-controller-manager, or without any definitions.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "support/temp_dir.hpp"

namespace cotrain::test {

// of_run: as bare, with the API server of the version that the run is about; the others are of the newest.
enum class plane { complete, bare, of_run };

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
