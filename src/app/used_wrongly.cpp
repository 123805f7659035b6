// How all subcommands refuse a wrong command line.
#include <cstdio>

#include "app/command.hpp"

namespace cotrain::app {

int used_wrongly(std::string_view why) {
    std::fprintf(stderr, "cotrain: %.*s\n", static_cast<int>(why.size()), why.data());
    return 2;
}

}  // namespace cotrain::app
