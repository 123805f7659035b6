#include "kube/auth/keeper.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/encoding.hpp"
#include "base/read_file.hpp"
#include "kube/config.hpp"

namespace cotrain::kube::auth {

namespace {

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r\n";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

file_source source_of(const pem_source& pem) {
    return pem.pem.empty() ? file_source(pem.file, pem_bytes_max) : file_source();
}

}  // namespace

base::result<bool> file_source::read() {
    auto text = base::read_file(path_, bytes_max_);
    if (!text) return base::fail(std::move(text).error());
    if (text->find_first_not_of(" \t\r\n") == std::string::npos)
        return base::fail(base::errc::invalid, "cannot use " + base::one_line(path_, 256) + ": it is empty");
    if (*text == content_) return false;
    content_ = std::move(*text);
    return true;
}

bool file_source::follow(base::logger& log) {
    auto changed = read();
    if (changed) {
        if (std::exchange(failing_, false)) log.info("credential file is readable again", {{"file", path_}});
        return *changed;
    }
    if (!std::exchange(failing_, true))
        log.error("cannot read a credential file, its last content stays in use",
                  {{"file", path_}, {"error", changed.error().message}});
    return false;
}

keeper::keeper(asio::any_io_executor executor, const cluster_config& cluster, keeper_options options, base::logger& log)
    : cluster_(cluster),
      plugin_(cluster.user.exec),
      options_(options),
      log_(log),
      token_file_(cluster.user.token_file, token_bytes_max),
      ca_file_(source_of(cluster.ca)),
      certificate_file_(source_of(cluster.user.certificate)),
      key_file_(source_of(cluster.user.key)),
      schedule_(options.exec),
      tasks_(std::move(executor)) {}

keeper::~keeper() = default;

base::result<std::unique_ptr<keeper>> keeper::make(asio::any_io_executor executor, const cluster_config& cluster,
                                                   keeper_options options, base::logger& log, time_point now) {
    std::unique_ptr<keeper> made(new keeper(std::move(executor), cluster, options, log));
    const identity& user = cluster.user;
    if (!user.username.empty())
        made->set_authorization("Basic " + base::encode_base64(user.username + ":" + user.password));
    else if (!user.token.empty())
        made->set_authorization("Bearer " + user.token);
    made->tls_ = {1, cluster.ca.pem, user.certificate.pem, user.key.pem};
    if (auto ok = made->read_files(now); !ok) return base::fail(std::move(ok).error().during(cluster.origin));
    return made;
}

base::result<> keeper::read_files(time_point now) {
    files_read_ = now;
    for (file_source* file : {&token_file_, &ca_file_, &certificate_file_, &key_file_}) {
        if (!file->used()) continue;
        if (auto read = file->read(); !read) return base::fail(std::move(read).error());
    }
    take_pems();
    return token_file_.used() ? take_token() : base::result<>{};
}

void keeper::follow_files(time_point now) {
    files_read_ = now;
    if (token_file_.used() && token_file_.follow(log_))
        if (auto ok = take_token(); !ok)
            log_.error("token file holds no usable token, the last one stays in use", {{"error", ok.error().message}});
    bool changed = false;
    for (file_source* file : {&ca_file_, &certificate_file_, &key_file_})
        if (file->used() && file->follow(log_)) changed = true;
    if (!changed) return;
    take_pems();
    ++tls_.version;
}

base::result<> keeper::take_token() {
    const std::string_view token = trimmed(token_file_.content());
    if (!visible_ascii(token))
        return base::fail(base::errc::invalid,
                          fmt::format("{} holds spaces, line breaks or bytes that no token has", token_file_.path()));
    set_authorization(fmt::format("Bearer {}", token));
    return {};
}

void keeper::take_pems() {
    if (ca_file_.used()) tls_.ca_pem = ca_file_.content();
    if (certificate_file_.used()) tls_.certificate_pem = certificate_file_.content();
    if (key_file_.used()) tls_.key_pem = key_file_.content();
}

void keeper::set_authorization(std::string value) {
    if (value == grant_.authorization) return;
    grant_.authorization = std::move(value);
    ++grant_.version;
}

const grant* keeper::current(time_point now) {
    if (now - files_read_ >= options_.files_every) follow_files(now);
    if (!uses_plugin()) return &grant_;
    switch (schedule_.at(now)) {
        case exec_schedule::need::none: return &grant_;
        case exec_schedule::need::soon:
            if (!running_ && schedule_.may_run(now)) start_plugin();
            return &grant_;
        case exec_schedule::need::now: return nullptr;
    }
    return nullptr;
}

void keeper::look_again(time_point now) { follow_files(now); }

awaitable<base::result<grant>> keeper::get(time_point now, time_point due) {
    if (const grant* ready = current(now); ready != nullptr) co_return *ready;
    if (!running_ && !schedule_.may_run(now)) {
        // Credentials that were past their end when the plugin gave them are tried until it may run again.
        if (plugin_failure_) co_return base::fail(*plugin_failure_);
        co_return grant_;
    }
    if (auto ok = co_await run_and_wait(due); !ok) co_return base::fail(std::move(ok).error());
    co_return grant_;
}

awaitable<base::result<bool>> keeper::renew(std::uint64_t rejected, time_point now, time_point due) {
    if (grant_.version != rejected) co_return true;
    follow_files(now);
    if (grant_.version != rejected) co_return true;
    if (!uses_plugin() || (!running_ && !schedule_.may_run(now))) co_return false;
    schedule_.reject();
    if (auto ok = co_await run_and_wait(due); !ok) co_return base::fail(std::move(ok).error());
    co_return grant_.version != rejected;
}

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
        log_.error("exec plugin gave no credentials", {{"error", plugin_failure_->message}});
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
