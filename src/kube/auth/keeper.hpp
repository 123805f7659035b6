// A file whose content is followed: read again when asked, the last good content kept when that fails.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "base/task_group.hpp"
#include "kube/auth/exec_credential.hpp"
#include "kube/auth/process.hpp"
#include "kube/config.hpp"
#include "kube/pacing.hpp"

namespace cotrain::kube::auth {

class file_source {
   public:
    file_source() = default;
    file_source(std::string path, std::size_t bytes_max) : path_(std::move(path)), bytes_max_(bytes_max) {}

    [[nodiscard]] bool used() const { return !path_.empty(); }
    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::string& content() const { return content_; }

    // Reads; true if the content changed. Empty files and unreadable ones are errors and change nothing.
    [[nodiscard]] base::result<bool> read();
    // The same for running operation: an error is logged when it is new, and counts as no change.
    [[nodiscard]] bool follow(base::logger& log);

   private:
    std::string path_;
    std::size_t bytes_max_ = 0;
    std::string content_;
    bool failing_ = false;
};

// Keeps credentials and trust fresh: token and certificate files are read again, exec plugins run again, in time.

inline constexpr std::size_t token_bytes_max = 64U << 10U;
inline constexpr std::size_t pem_bytes_max = 4U << 20U;

struct keeper_options {
    std::chrono::milliseconds files_every{10'000};  // how old the knowledge of a file may be
    exec_schedule_policy exec;
    process_limits plugin;
};

// What a request carries. `version` changes whenever the header does.
struct grant {
    std::uint64_t version = 0;
    std::string authorization;  // the header's value; empty: none
};

// What a connection needs. `version` changes whenever any of it does.
struct tls_material {
    std::uint64_t version = 0;
    std::string ca_pem;
    std::string certificate_pem;
    std::string key_pem;
};

// Single-threaded; stop() must have completed before it goes. `now` is always steady time now.
class keeper {
   public:
    using time_point = std::chrono::steady_clock::time_point;

    // Reads all files once: a missing or unusable one is an error now rather than later.
    [[nodiscard]] static base::result<std::unique_ptr<keeper>> make(asio::any_io_executor executor,
                                                                    const cluster_config& cluster,
                                                                    keeper_options options, base::logger& log,
                                                                    time_point now);
    ~keeper();

    // The present grant, if nobody has to be waited for; files are looked at when that is due.
    [[nodiscard]] const grant* current(time_point now);
    // The grant, after the plugin has run if that is needed. Callers at the same time share one run.
    [[nodiscard]] awaitable<base::result<grant>> get(time_point now, time_point due);
    // After a 401 for the grant of that version: looks at the files at once or runs the plugin; true if there is
    // another grant now.
    [[nodiscard]] awaitable<base::result<bool>> renew(std::uint64_t rejected, time_point now, time_point due);
    // Reads the files now, whatever their age: after a TLS failure.
    void look_again(time_point now);

    [[nodiscard]] const tls_material& tls() const { return tls_; }

    // Kills a running plugin and ends all waits.
    [[nodiscard]] awaitable<void> stop();

   private:
    keeper(asio::any_io_executor executor, const cluster_config& cluster, keeper_options options, base::logger& log);

    [[nodiscard]] base::result<> read_files(time_point now);
    void follow_files(time_point now);
    [[nodiscard]] base::result<> take_token();
    void take_pems();
    void set_authorization(std::string value);
    [[nodiscard]] bool uses_plugin() const { return !plugin_.command.empty(); }
    [[nodiscard]] awaitable<base::result<>> run_and_wait(time_point due);
    void start_plugin();
    [[nodiscard]] awaitable<void> run_plugin();
    [[nodiscard]] base::result<> take_output(const base::result<process_result>& ran, time_point now);

    cluster_config cluster_;
    exec_plugin plugin_;
    keeper_options options_;
    base::logger& log_;
    file_source token_file_, ca_file_, certificate_file_, key_file_;
    time_point files_read_{};
    grant grant_;
    tls_material tls_;
    exec_schedule schedule_;
    bool running_ = false;
    std::uint64_t runs_ = 0;                     // that ended
    std::optional<base::error> plugin_failure_;  // of the last run
    sleepers waiting_;                           // for the run to end
    base::task_group tasks_;
};

}  // namespace cotrain::kube::auth
