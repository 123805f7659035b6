// Which signals end a command that a person has started in a terminal.
#pragma once

#include <boost/asio/signal_set.hpp>

namespace cotrain::app {

// Ctrl-C, kill, and the terminal's end, unless that is to be ignored (nohup).
void add_ending_signals(boost::asio::signal_set& to);

}  // namespace cotrain::app
