// Calls `cotrain render` and `cotrain validate` with texts for streams.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "app/render/render.hpp"

namespace cotrain::app {

struct outcome {
    int code = -1;
    std::string out;
    std::string err;
};

inline outcome run(const std::vector<std::string>& words, std::string input = {}, bool verdicts_only = false) {
    const std::vector<std::string_view> views(words.begin(), words.end());
    const auto options = read_render_options(views, verdicts_only);
    if (!options) return {2, {}, options.error().message};
    std::array<char*, 2> texts{};
    std::array<std::size_t, 2> sizes{};
    std::FILE* const in = std::tmpfile();
    std::fwrite(input.data(), 1, input.size(), in);
    std::rewind(in);
    std::FILE* const out = open_memstream(&texts[0], &sizes[0]);
    std::FILE* const err = open_memstream(&texts[1], &sizes[1]);
    outcome result;
    result.code = render(*options, {.in = in, .out = out, .err = err});
    for (std::FILE* each : {in, out, err}) std::fclose(each);
    result.out.assign(texts[0], sizes[0]);
    result.err.assign(texts[1], sizes[1]);
    for (char* each : texts) std::free(each);
    return result;
}

}  // namespace cotrain::app
