// A second control plane, with kube-controller-manager: garbage collector and namespace controller included.
#pragma once

#include <sys/types.h>

#include <string>

namespace cotrain::test {

// Starts with the constructor, is gone with the destructor.
class side_plane {
   public:
    side_plane();
    ~side_plane();
    side_plane(const side_plane&) = delete;
    side_plane& operator=(const side_plane&) = delete;

    [[nodiscard]] std::string kubeconfig() const { return dir_ + "/kubeconfig"; }
    [[nodiscard]] std::string audit() const { return dir_ + "/audit.log"; }

   private:
    std::string dir_;
    pid_t pid_ = -1;
    int lifeline_ = -1;
};

}  // namespace cotrain::test
