// The configuration's TLS choices, in Go's names, as our servers need them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config.hpp"
#include "base/error.hpp"
#include "net/tls/context.hpp"

namespace cotrain::app {

enum class suite_standing : std::uint8_t { unknown, dropped, insecure, good };

// What we make of a cipher suite by Go's name. `dropped`: Go has it, our TLS library no longer.
[[nodiscard]] suite_standing standing_of(std::string_view go_name);
// The names that are good, for messages.
[[nodiscard]] std::string good_suites();

// Everything but certificates; `config` must have been read by read_configuration().
[[nodiscard]] net::tls::server_options to_server_options(const tls_config& config);

}  // namespace cotrain::app
