#include "ui/watching.hpp"

#include <chrono>
#include <utility>

#include "api/names.hpp"
#include "app/build_info.hpp"
#include "ui/reading.hpp"

namespace cotrain::ui {

namespace {

constexpr kube::resource resource_of(const api::resource_type& type) {
    return {type.group, type.version, type.plural, type.kind, type.namespaced};
}

std::string text_of(const watch::json_text& text) {
    std::string scratch;
    return std::string(text.value(scratch));
}

source_row row_of(std::string_view kind, const follower& of) {
    const bool fine = of.now() == follower::state::synced;
    return {kind, to_string(of.now()), fine ? std::string_view{} : std::string_view(of.last_error())};
}

}  // namespace

base::result<std::unique_ptr<kube::client>> make_client(asio::io_context& loop, const kube::cluster_config& cluster,
                                                        base::logger& log) {
    kube::client_options with;
    with.user_agent = std::string(agent).append(app::version());
    return kube::client::make(loop.get_executor(), cluster, std::move(with), log);
}

class watching::sink final : public follower_sink {
   public:
    sink(watching& of, fleet::part which) : all_(of), which_(which) {}

    void begin_relist() override { all_.rows_.begin_relist(which_); }
    void put(const watch::object_view& object) override {
        const auto now = std::chrono::steady_clock::now();
        const std::string ns = text_of(object.ns);
        if (which_ == fleet::part::job) {
            all_.rows_.put_job(ns, text_of(object.name), read_job(object), now);
        } else if (const std::string owner = owner_of(object); !owner.empty()) {
            all_.rows_.put_set(ns, owner, read_set(object), now);
        }
        all_.server_.changed();
    }
    void remove(const watch::object_view& object) override {
        const std::string name = which_ == fleet::part::job ? text_of(object.name) : owner_of(object);
        all_.rows_.remove(which_, text_of(object.ns), name);
        all_.server_.changed();
    }
    void end_relist() override {
        all_.rows_.end_relist(which_);
        all_.server_.changed();
    }
    void stands() override { all_.server_.changed(); }

   private:
    watching& all_;
    fleet::part which_;
};

watching::watching(asio::io_context& loop, kube::client& api, std::string cluster, std::string ns, std::string labels,
                   page_options options, base::logger& log)
    : cluster_(std::move(cluster)),
      ns_(std::move(ns)),
      tasks_(loop.get_executor()),
      reads_(api),
      server_(
          loop, std::move(options), rows_, reads_, [this](feed_message& out) { describe(out); }, log),
      jobs_to_(std::make_unique<sink>(*this, fleet::part::job)),
      sets_to_(std::make_unique<sink>(*this, fleet::part::set)),
      jobs_(resource_of(api::names::train_job), ns_, std::move(labels), *jobs_to_, api, log),
      sets_(resource_of(api::names::job_set), ns_, {}, *sets_to_, api, log) {}

watching::~watching() = default;

void watching::describe(feed_message& out) const {
    out.cluster = cluster_;
    out.ns = ns_;
    out.sources = {row_of(api::names::train_job.kind, jobs_), row_of(api::names::job_set.kind, sets_)};
}

base::result<> watching::start() {
    if (auto done = server_.start(); !done) return done;
    jobs_.start(tasks_);
    sets_.start(tasks_);
    return {};
}

awaitable<void> watching::stop() {
    tasks_.cancel();
    co_await tasks_.join();
    co_await server_.stop();
}

}  // namespace cotrain::ui
