// `cotrain render` and `cotrain validate`: options, and the work with its streams as arguments.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "app/render/planner.hpp"
#include "base/error.hpp"

namespace cotrain::app {

// A bar for work of many steps, on the last line of a terminal.

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

// `cotrain render` and `cotrain validate` with their streams as arguments.

enum class render_format : std::uint8_t { yaml, json, summary, explain, none };

struct render_options {
    std::vector<std::string> files;
    std::vector<std::string> observed;
    std::string config_file{};
    std::string ns = "default";
    bool ns_given = false;
    bool help = false;
    render_format format = render_format::yaml;
    field_validation fields = field_validation::warn;
};

// `verdicts_only` is validate: no -o.
[[nodiscard]] base::result<render_options> read_render_options(arguments words, bool verdicts_only);

struct streams {
    std::FILE* in = stdin;
    std::FILE* out = stdout;
    std::FILE* err = stderr;
    bool progress = false;  // a bar on `err`
};

// 0 done, 1 something was refused or cannot be rendered, 2 unreadable input.
[[nodiscard]] int render(const render_options& options, const streams& io);

}  // namespace cotrain::app
