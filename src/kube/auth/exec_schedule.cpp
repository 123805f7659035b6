// Arithmetic of credentials' lives.
#include "kube/auth/exec_schedule.hpp"

#include <algorithm>

namespace cotrain::kube::auth {

exec_schedule::need exec_schedule::at(time_point now) const {
    if (!usable_ || (now_at_ && now >= *now_at_)) return need::now;
    return soon_at_ && now >= *soon_at_ ? need::soon : need::none;
}

void exec_schedule::succeeded(time_point now, std::optional<std::chrono::seconds> life) {
    using std::chrono::milliseconds;
    usable_ = true;
    ended_ = now;
    soon_at_.reset();
    now_at_.reset();
    if (!life) return;
    const milliseconds whole = std::clamp<std::chrono::seconds>(*life, std::chrono::seconds(0), std::chrono::years(10));
    soon_at_ = now + whole - std::min<milliseconds>(whole / 5, policy_.early_max);
    now_at_ = now + whole - std::min<milliseconds>(whole / 20, policy_.margin_max);
}

}  // namespace cotrain::kube::auth
