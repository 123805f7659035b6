// Exec plugins: one run at a time, shared by everyone who waits.
#include <fmt/format.h>

#include "kube/auth/keeper.hpp"

namespace cotrain::kube::auth {

void keeper::start_plugin() {
    running_ = true;
    tasks_.spawn("exec plugin", run_plugin());
}

awaitable<base::result<>> keeper::run_and_wait(time_point due) {
    const std::uint64_t before = runs_;
    if (!running_) start_plugin();
    while (runs_ == before) {
        const auto outcome = co_await waiting_.until(due);
        if (runs_ != before) break;
        if (outcome == sleepers::outcome::slept)
            co_return base::fail(base::errc::deadline,
                                 fmt::format("exec plugin {} has not answered yet", plugin_.command));
        co_return base::fail(base::errc::canceled, fmt::format("given up waiting for exec plugin {}", plugin_.command));
    }
    if (plugin_failure_) co_return base::fail(*plugin_failure_);
    co_return base::result<>{};
}

awaitable<void> keeper::run_plugin() {
    program what{plugin_.command, plugin_.arguments, plugin_.environment};
    what.environment.emplace_back("KUBERNETES_EXEC_INFO", write_exec_info(plugin_, cluster_, tls_.ca_pem));
    const auto ran = co_await run_process(std::move(what), options_.plugin);
    const time_point now = std::chrono::steady_clock::now();
    running_ = false;
    if (!ran && ran.error().code == base::errc::canceled) co_return waiting_.wake_all();
    ++runs_;
    auto taken = take_output(ran, now);
    plugin_failure_.reset();
    if (!taken) {
        schedule_.failed(now);
        plugin_failure_ = std::move(taken).error().during("exec plugin " + base::one_line(plugin_.command, 256));
        log_.warn("exec plugin gave no credentials", {{"error", plugin_failure_->message}});
    }
    waiting_.wake_all();
}

base::result<> keeper::take_output(const base::result<process_result>& ran, time_point now) {
    if (!ran) {
        base::error failure = base::make_error(base::errc::auth, ran.error().message);
        if (!plugin_.install_hint.empty()) failure.message += "; " + base::one_line(plugin_.install_hint, 256);
        return base::fail(std::move(failure));
    }
    if (ran->exit_code != 0)
        return base::fail(base::errc::auth,
                          fmt::format("it ended with {}: {}", ran->exit_code,
                                      ran->errors.empty() ? "it said nothing" : base::one_line(ran->errors, 512)));
    auto said = read_exec_credential(ran->output, plugin_.api_version);
    if (!said) return base::fail(std::move(said).error());
    std::optional<std::chrono::seconds> life;
    if (said->expires)
        life = *said->expires - std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
    set_authorization(said->token.empty() ? std::string() : "Bearer " + said->token);
    if (!said->certificate_pem.empty() &&
        (said->certificate_pem != tls_.certificate_pem || said->key_pem != tls_.key_pem)) {
        tls_.certificate_pem = std::move(said->certificate_pem);
        tls_.key_pem = std::move(said->key_pem);
        ++tls_.version;
        // A new certificate renews the identity even where the header stays the same.
        ++grant_.version;
    }
    schedule_.succeeded(now, life);
    return {};
}

awaitable<void> keeper::stop() {
    tasks_.cancel();
    waiting_.wake_all();
    co_await tasks_.join();
}

}  // namespace cotrain::kube::auth
