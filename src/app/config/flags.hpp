// The operator's flags, in the spelling of Go programs, and the configuration they lead to.
#pragma once

#include <string>

#include "app/command.hpp"
#include "app/config/config.hpp"
#include "base/error.hpp"
#include "base/log.hpp"

namespace cotrain::app {

struct operator_flags {
    std::string config_file{};  // empty: defaults
    gate_choices gates{};       // win over the file's
    std::string kubeconfig{};
    std::string webhook_cert_dir{};  // empty: the ecosystem's place, see default_cert_dir()
    base::level log_level = base::level::info;
    bool signals = true;  // SIGTERM, SIGINT and SIGHUP are ours; no flag: a host program's are its own
};

// --name=value, --name value, and both with one dash; --zap-* of the reference are checked, and those that describe
// another log format are taken and change nothing. Errors name the flag and what is allowed.
[[nodiscard]] base::result<operator_flags> read_flags(arguments words);
// What --help prints: a line for each flag.
[[nodiscard]] std::string flag_help();

// The file, or defaults without one; then the flags' gates. The error begins with the file's name.
[[nodiscard]] base::result<configuration> load_configuration(const operator_flags& flags);

// k8s-webhook-server/serving-certs under TMPDIR or /tmp.
[[nodiscard]] std::string default_cert_dir();

}  // namespace cotrain::app
