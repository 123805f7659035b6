// A bar for work of many steps, on the last line of a terminal.
#pragma once

#include <cstddef>
#include <cstdio>

namespace cotrain::app {

class progress_bar {
   public:
    static constexpr std::size_t steps_min = 200;  // fewer are over before anybody looks

    // Not `wanted`, or with few steps, it never shows.
    progress_bar(std::FILE* to, std::size_t steps, bool wanted)
        : to_(to), steps_(wanted && steps >= steps_min ? steps : 0) {}
    ~progress_bar() { hide(); }
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;

    void step();
    // Clears the line for something else, until the bar is drawn again.
    void hide();

   private:
    std::FILE* to_;
    std::size_t steps_;
    std::size_t done_ = 0;
    bool shown_ = false;
};

}  // namespace cotrain::app
