// The command line: picks the subcommand and hands over.
#include <cstdio>
#include <string_view>

int main(int argc, char** argv) {
    const std::string_view command = argc > 1 ? argv[1] : "help";
    if (command == "version") {
        std::puts("cotrain " COTRAIN_VERSION);
        return 0;
    }
    std::fputs("usage: cotrain version\n", command == "help" ? stdout : stderr);
    return command == "help" ? 0 : 2;
}
