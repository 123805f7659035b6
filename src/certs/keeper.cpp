#include "certs/keeper.hpp"

#include <algorithm>
#include <utility>

#include "api/names.hpp"
#include "certs/certificate_set.hpp"

namespace cotrain::certs {

using std::chrono::milliseconds;

namespace {

constexpr kube::resource secrets{"", "v1", "secrets", "Secret"};
constexpr kube::resource config_maps{"", "v1", "configmaps", "ConfigMap"};
constexpr kube::resource mutating_configurations{"admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations",
                                                 "MutatingWebhookConfiguration", false};
constexpr kube::resource validating_configurations{
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", false};
constexpr int not_found = 404;
constexpr int conflict = 409;
constexpr int forbidden = 403;

}  // namespace

std::chrono::milliseconds repair_pace::after(found what, moment now, base::random_source& random) {
    if (what == found::failed) return failed_pause_.next(random);
    failed_pause_.reset();
    if (repairs_ != 0 && now - last_repair_ >= policy_.calm) {
        repairs_ = 0;
        contested_pause_.reset();
    }
    if (what == found::repaired) {
        if (!contested()) ++repairs_;
        last_repair_ = now;
        if (contested()) return contested_pause_.next(random);
    }
    const auto half = policy_.pause / 2;
    return half + std::chrono::milliseconds(
                      static_cast<std::int64_t>(static_cast<double>((policy_.pause - half).count()) * random.unit()));
}

// The secret as it was read.
struct certificate_keeper::stored {
    std::string body;  // empty: there is none
    certificate_set set;
};

certificate_keeper::certificate_keeper(asio::any_io_executor executor, kube::client& api, served_certificate& serving,
                                       keeper_options options, base::logger& log)
    : api_(api),
      serving_(serving),
      options_(std::move(options)),
      log_(log),
      tasks_(executor),
      hold_(tasks_.executor()),
      pause_(tasks_.executor()),
      pace_(options_.pace) {}

void certificate_keeper::start() {
    tasks_.supervise("certificates", [this] { return keep(); }, log_, options_.mistake_retry);
    const auto watch = [this](std::string_view task, const kube::resource& of, const std::string& ns,
                              const std::string& name) {
        tasks_.supervise(task, [this, of, ns, name] { return follow(of, ns, name); }, log_, options_.mistake_retry);
    };
    watch("secret", secrets, options_.ns, options_.secret);
    if (!options_.webhooks) return;
    watch("mutating webhooks", mutating_configurations, {}, options_.mutating);
    watch("validating webhooks", validating_configurations, {}, options_.validating);
}

awaitable<void> certificate_keeper::stop() {
    tasks_.cancel();
    co_await tasks_.join();
}

void certificate_keeper::changed() {
    changed_ = true;
    pause_.cancel();
}

awaitable<void> certificate_keeper::keep() {
    using found = repair_pace::found;
    std::string told;  // what is wrong is logged once
    for (;;) {
        changed_ = false;
        repaired_ = false;
        auto done = co_await tend();
        const bool overtaken = !done && done.error().http_status == conflict;  // another replica was faster
        found what = repaired_ || overtaken ? found::repaired : found::good;
        milliseconds wait = options_.check_every;
        if (done) {
            told.clear();
            settled_ = true;
            wait = std::clamp<milliseconds>(renew_at_ - options_.now(), milliseconds(0), wait);
        } else {
            changed_ = true;  // look again
            if (!overtaken) {
                what = found::failed;
                if (done.error().message != told)
                    log_.error("cannot maintain the serving certificate", {{"error", done.error().message}});
                told = std::move(done.error().message);
            }
        }
        const milliseconds hold = pace_.after(what, std::chrono::steady_clock::now(), random_);
        hold_.expires_after(hold);
        co_await hold_.async_wait(use_tuple);
        if (changed_ || wait <= hold) continue;
        pause_.expires_after(wait - hold);
        co_await pause_.async_wait(use_tuple);
        if (!changed_) published_.clear();  // nobody watches the ConfigMap: it is written again now and then
    }
}

awaitable<void> certificate_keeper::follow(kube::resource of, std::string ns, std::string name) {
    base::backoff retry(options_.watch_retry);
    base::backoff unwatched(options_.unwatched);
    asio::steady_timer timer(tasks_.executor());
    const std::string selector = "metadata.name=" + name;
    for (;;) {
        auto stream = co_await api_.watch(of, ns, {.field_selector = selector, .as = kube::shape::metadata});
        const bool may_not = !stream && stream.error().http_status == forbidden;
        if (stream) {
            changed();  // while there was no watch
            retry.reset();
            unwatched.reset();
            for (;;) {
                const auto event = co_await stream->next();
                if (!event || !*event) break;
                changed();
            }
        } else {
            log_.debug("cannot watch", {{"object", name}, {"error", stream.error().message}});
        }
        timer.expires_after(may_not ? unwatched.next(random_) : retry.next(random_));
        co_await timer.async_wait(use_tuple);
        if (may_not) changed();
    }
}

void certificate_keeper::tell_contested(std::string_view object, std::string_view member, std::string_view body) {
    if (!pace_.contested()) return;
    log_.error("another field manager keeps changing an object of the operator",
               {{"object", object}, {"fieldManager", last_writer(body, member)}});
}

awaitable<base::result<>> certificate_keeper::tend() {
    auto kept = co_await read();
    if (!kept) co_return base::fail(std::move(kept.error()));
    judgement verdict = judge(kept->set, options_.names, options_.now());
    if (verdict.what != standing::good) {
        // What we serve is better than something new: nobody has to learn to trust it.
        const judgement ours = judge(current_, options_.names, options_.now());
        certificate_set next = current_;
        if (ours.what != standing::good) {
            auto renewed = renew(kept->set, verdict.what, options_.names, options_.now());
            if (!renewed) co_return base::fail(std::move(renewed.error()));
            next = std::move(*renewed);
        }
        log_.info("serving certificate renewed", {{"secret", options_.secret}, {"reason", verdict.why}});
        tell_contested(options_.secret, "data", kept->body);
        kept->set = std::move(next);
        if (auto saved = co_await save(&*kept); !saved) co_return base::fail(std::move(saved.error()));
        verdict = judge(kept->set, options_.names, options_.now());
    }
    renew_at_ = verdict.renew_at;
    if (options_.webhooks) {
        auto first = co_await trust(mutating_configurations, options_.mutating, kept->set.ca_crt);
        auto second = co_await trust(validating_configurations, options_.validating, kept->set.ca_crt);
        if (!first) co_return base::fail(std::move(first.error()));
        if (!second) co_return base::fail(std::move(second.error()));
    }
    co_await publish(kept->set.ca_crt);
    current_ = kept->set;
    co_return serving_.use(current_.tls_crt, current_.tls_key);
}

awaitable<base::result<certificate_keeper::stored>> certificate_keeper::read() {
    auto got = co_await api_.get(secrets, {.ns = options_.ns, .name = options_.secret});
    if (!got) {
        if (got.error().http_status == not_found) co_return stored{};
        co_return base::fail(std::move(got.error()));
    }
    auto set = read_secret(got->body);
    if (!set) co_return base::fail(std::move(set.error()));
    co_return stored{.body = std::move(got->body), .set = std::move(*set)};
}

awaitable<base::result<>> certificate_keeper::save(stored* what) {
    auto body = write_secret(what->body, options_.ns, options_.secret, what->set);
    if (!body) co_return base::fail(std::move(body.error()));
    auto done = what->body.empty()
                    ? co_await api_.create(secrets, options_.ns, std::move(*body))
                    : co_await api_.update(secrets, {.ns = options_.ns, .name = options_.secret}, std::move(*body));
    if (!done) co_return base::fail(std::move(done.error()));
    repaired_ = true;
    co_return base::result<>{};
}

// A configuration that is not there, or that we may not change, is somebody else's business.
awaitable<base::result<>> certificate_keeper::trust(kube::resource of, std::string name, std::string ca_pem) {
    auto got = co_await api_.get(of, {.name = name});
    if (!got && got.error().http_status == not_found) co_return base::result<>{};
    if (got) {
        auto edited = inject_authority(got->body, ca_pem);
        if (!edited) co_return base::fail(std::move(edited.error()));
        if (!*edited) co_return base::result<>{};
        tell_contested(name, "webhooks", got->body);
        got = co_await api_.update(of, {.name = name}, std::move(**edited));
        if (got) log_.info("CA bundle injected into the webhook configuration", {{"configuration", name}});
        repaired_ = repaired_ || got;
    }
    if (got) co_return base::result<>{};
    if (got.error().http_status != forbidden) co_return base::fail(std::move(got.error()));
    log_.error("cannot inject the CA bundle into the webhook configuration",
               {{"configuration", name}, {"error", got.error().message}});
    co_return base::result<>{};
}

awaitable<void> certificate_keeper::publish(std::string ca_pem) {
    if (ca_pem == published_) co_return;
    const auto done = co_await api_.apply(config_maps, {.ns = options_.ns, .name = options_.secret},
                                          write_bundle(options_.ns, options_.secret, ca_pem), true,
                                          {.field_manager = api::names::field_manager});
    if (!done)
        log_.error("cannot write the CA certificate to its ConfigMap",
                   {{"configmap", options_.secret}, {"error", done.error().message}});
    published_ = std::move(ca_pem);
}

}  // namespace cotrain::certs
