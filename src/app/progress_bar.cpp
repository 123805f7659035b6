// Draws with carriage returns only.
#include "app/progress_bar.hpp"

#include <fmt/format.h>

#include <string>

namespace cotrain::app {
namespace {

constexpr std::size_t cells = 30;
constexpr std::size_t steps_a_drawing = 100;

}  // namespace

void progress_bar::step() {
    if (steps_ == 0) return;
    if (++done_ % steps_a_drawing != 0 || done_ >= steps_) return;
    const std::size_t full = done_ * cells / steps_;
    const std::string line = fmt::format("\r[{:#<{}}{:{}}] {}/{}", "", full, "", cells - full, done_, steps_);
    std::fwrite(line.data(), 1, line.size(), to_);
    std::fflush(to_);
    shown_ = true;
}

void progress_bar::hide() {
    if (!shown_) return;
    const std::string blank = fmt::format("\r{:{}}\r", "", cells + 24);  // two numbers of ten digits
    std::fwrite(blank.data(), 1, blank.size(), to_);
    std::fflush(to_);
    shown_ = false;
}

}  // namespace cotrain::app
