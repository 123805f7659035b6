// Asks what the process was started with before a handler replaces it.
#include "app/ending_signals.hpp"

#include <csignal>

namespace cotrain::app {

void add_ending_signals(boost::asio::signal_set& to) {
    to.add(SIGINT);
    to.add(SIGTERM);
    struct sigaction before{};
    if (::sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) to.add(SIGHUP);
}

}  // namespace cotrain::app
