// `cotrain config`: prints the configuration that the operator would run with.
#include <cstdio>

#include "app/command.hpp"
#include "app/config_flags.hpp"

namespace cotrain::app {

int run_config(arguments words) {
    for (const std::string_view w : words) {
        if (w != "--help" && w != "-help" && w != "-h") continue;
        std::printf("usage: cotrain config [flags of the operator]\n\n%s", flag_help().c_str());
        return 0;
    }
    const auto flags = read_flags(words);
    if (!flags) return used_wrongly("config: " + flags.error().message);
    const auto config = load_configuration(*flags);
    if (!config) return used_wrongly("config: " + config.error().message);
    for (const std::string& warning : config->warnings)
        std::fprintf(stderr, "cotrain config: warning: %s\n", warning.c_str());
    std::fputs(to_yaml(*config).c_str(), stdout);
    return 0;
}

}  // namespace cotrain::app
