#include "app/terminal.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace cotrain::app {

terminal terminal_of(bool is_terminal, const char* term, const char* no_color, std::size_t columns) {
    terminal out;
    out.live = is_terminal && term != nullptr && *term != '\0' && std::string_view(term) != "dumb";
    out.colors = out.live && (no_color == nullptr || *no_color == '\0');
    if (columns > 0) out.columns = columns;
    return out;
}

terminal terminal_at(int descriptor) {
    winsize size{};
    const bool known = ::ioctl(descriptor, TIOCGWINSZ, &size) == 0;
    return terminal_of(::isatty(descriptor) == 1, std::getenv("TERM"), std::getenv("NO_COLOR"),
                       known ? size.ws_col : 0);
}

}  // namespace cotrain::app
