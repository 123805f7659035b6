// What `cotrain demo` prints at its end. Pure.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "app/timeline.hpp"
#include "kube/client.hpp"
#include "sim/cluster.hpp"
#include "sim/server.hpp"

namespace cotrain::app {

// The operator's requests, as the API server saw them.
class demo_traffic {
   public:
    struct row {
        std::uint64_t requests = 0;
        std::uint64_t bytes_in = 0;
        std::chrono::nanoseconds took{};
    };
    void add(const sim::request_note& note);
    [[nodiscard]] const std::map<std::pair<std::string, std::string>, row>& rows() const { return rows_; }

   private:
    std::map<std::pair<std::string, std::string>, row> rows_;  // by verb and resource
};

// "torch-two 2/2 pods   mpi-pi 0/4 pods"
[[nodiscard]] std::string status_line(std::span<const job_course> jobs);
[[nodiscard]] std::string show_hostfile(const sim::cluster& all);
// Of the pod whose name begins so, as a process in it would see it.
[[nodiscard]] std::string show_environment(const sim::cluster& all, std::string_view pod_prefix);
[[nodiscard]] std::string show_summary(std::span<const job_course> jobs, const demo_traffic& traffic,
                                       const kube::client_statistics& sent, std::chrono::nanoseconds all);

}  // namespace cotrain::app
