// Kubelet swaps projected files through symbolic links, so the path is opened anew each time.
#include "kube/auth/file_source.hpp"

#include <utility>

#include "kube/read_file.hpp"

namespace cotrain::kube::auth {

base::result<bool> file_source::read() {
    auto text = read_file(path_, bytes_max_);
    if (!text) return base::fail(std::move(text).error());
    if (text->find_first_not_of(" \t\r\n") == std::string::npos)
        return base::fail(base::errc::invalid, "cannot use " + base::one_line(path_, 256) + ": it is empty");
    if (*text == content_) return false;
    content_ = std::move(*text);
    return true;
}

bool file_source::follow(base::logger& log) {
    auto changed = read();
    if (changed) {
        if (std::exchange(failing_, false)) log.info("credential file is readable again", {{"file", path_}});
        return *changed;
    }
    if (!std::exchange(failing_, true))
        log.warn("credential file cannot be read, its last content stays in use",
                 {{"file", path_}, {"error", changed.error().message}});
    return false;
}

}  // namespace cotrain::kube::auth
