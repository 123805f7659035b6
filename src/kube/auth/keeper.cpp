// Files: reading them at the start, following them, turning them into grants and TLS material.
#include "kube/auth/keeper.hpp"

#include <fmt/format.h>

#include "kube/base64.hpp"
#include "kube/header_text.hpp"

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
        made->set_authorization("Basic " + encode_base64(user.username + ":" + user.password));
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
            log_.warn("token file holds no usable token, the last one stays in use", {{"error", ok.error().message}});
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

}  // namespace cotrain::kube::auth
