// `cotrain render` and `cotrain validate` with their streams as arguments.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "app/command.hpp"
#include "base/error.hpp"

namespace cotrain::app {

enum class render_format : std::uint8_t { yaml, json, summary, none };

struct render_options {
    std::vector<std::string> files;
    std::vector<std::string> observed;
    std::string ns = "default";
    bool ns_given = false;
    bool help = false;
    render_format format = render_format::yaml;
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
