// `cotrain apiserver`: the embedded API server for anybody's tests, by itself or in the place of envtest's programs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/command.hpp"
#include "base/error.hpp"
#include "sim/cluster.hpp"

namespace cotrain::playground {

int run_apiserver(app::arguments words);
std::vector<app::option_word> apiserver_words();

inline constexpr std::size_t definitions_bytes_max = 64UL * 1024 * 1024;  // of one file

struct apiserver_options {
    bool help = false;
    std::vector<std::string> definitions;  // files and directories
    std::string address = "127.0.0.1";
    std::uint16_t port = 0;
    std::string kubeconfig;   // file to write; empty: a temporary one
    bool controllers = true;  // garbage is collected, and namespaces end
    bool verbose = false;
    std::string envtest;  // directory to make, and nothing else
    // In the place of kube-apiserver: who may come, and with what it serves.
    bool envtest_server = false;
    std::string certificate_dir;
    std::string certificate_file;
    std::string key_file;
    std::string client_ca_file;
};
[[nodiscard]] base::result<apiserver_options> read_apiserver_options(app::arguments words);
// From kube-apiserver's own flags: those that mean something here, and the others are let be.
[[nodiscard]] base::result<apiserver_options> read_kube_apiserver_flags(app::arguments words);

// What a cluster has when it is new.
[[nodiscard]] base::result<> add_first_objects(sim::cluster& to, bool controllers);
// The definitions of a file or a directory. What is not judged of them is appended to `unjudged`, a line each. Errors
// say file and line.
[[nodiscard]] base::result<> load_definitions(sim::cluster& to, const std::string& path, bool every_one,
                                              std::vector<std::string>& unjudged);

// Programs that envtest starts, as scripts that start this one.
[[nodiscard]] base::result<> write_envtest(const std::string& directory);
// In the place of etcd: is healthy, and nothing else.
int run_etcd(app::arguments words);

}  // namespace cotrain::playground
