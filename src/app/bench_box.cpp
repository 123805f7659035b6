// The embedded API server under a bench: jobs are written into it directly, so that only the controller uses its wire.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <vector>

#include "api/json.hpp"
#include "app/bench_target.hpp"
#include "app/box.hpp"
#include "app/private_file.hpp"

namespace cotrain::app {

namespace {

constexpr std::string_view group = "trainer.kubeflow.org";
constexpr std::string_view home = "default";

api::seconds_time wall() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

bool is_over(const sim::record_ptr& job) {
    return job && (job->json.contains(R"("type":"Complete")") || job->json.contains(R"("type":"Failed")"));
}

class box_target final : public bench_target {
   public:
    box_target(asio::io_context& loop, const bench_options& options, std::string dir, bench_events to)
        : load_(options.load),
          ends_(options.script.end != sim::player_script::ending::never),
          kubeconfig_(std::move(dir) + "/kubeconfig"),
          to_(std::move(to)),
          box_(loop, options_of(options), base::null_logger()) {}

    awaitable<base::result<>> start() override {
        if (auto done = box_.start(); !done) co_return done;
        const sim::kinds& types = box_.objects().types();
        jobs_ = types.find(group, "v1alpha1", "trainjobs");
        job_sets_ = types.find("jobset.x-k8s.io", "v1alpha2", "jobsets");
        seen_ = box_.objects().objects().version();
        if (auto done = write_private_file(kubeconfig_, box_.kubeconfig()); !done) co_return done;
        co_return make(types.find(group, "v1alpha1", "trainingruntimes"), bench_runtime(load_));
    }

    awaitable<base::result<>> make_job(std::int64_t number) override {
        auto done = make(jobs_, bench_job(load_, number));
        if (static_cast<std::size_t>(number) >= shares_.size()) shares_.resize(static_cast<std::size_t>(number) + 1);
        shares_[static_cast<std::size_t>(number)].made = clock::now();
        co_return done;
    }

    awaitable<base::result<>> remove_job(std::int64_t number) override {
        const auto done =
            box_.objects().remove({jobs_, std::string(home), bench_job_name(number)}, sim::removal{}, wall());
        if (!done) co_return base::fail(base::errc::internal, done.error().message);
        box_.changed();
        co_return base::result<>{};
    }

    std::string kubeconfig() const override { return kubeconfig_; }
    bool jobs_end() const override { return ends_; }

    std::map<std::string, bench_traffic> take_traffic() override {
        const std::uint64_t brought = box_.server().counters().watch_bytes;
        traffic_["watch, events"].bytes_received += brought - watch_bytes_;
        watch_bytes_ = brought;
        return std::exchange(traffic_, {});
    }

    awaitable<void> stop() override { co_await box_.stop(); }

   private:
    box_options options_of(const bench_options& options) {
        return {.script = options.script,
                .told = [this](const sim::request_note& note) { count(note); },
                .changed = [this] { follow(); }};
    }

    base::result<> make(const sim::kind* of, const std::string& text) {
        api::arena memory;
        const auto document = api::parse_json(memory, text);
        if (!document) return base::fail(document.error());
        const auto done =
            box_.objects().create({of, std::string(home)}, *document, {.manager = "cotrain-bench"}, wall());
        if (!done) return base::fail(base::errc::internal, done.error().message);
        box_.changed();
        return {};
    }

    void count(const sim::request_note& note) {
        bench_traffic& row = traffic_[note.verb.empty() ? "other" : fmt::format("{} {}", note.verb, note.resource)];
        ++row.requests;
        row.bytes_sent += note.bytes_in;
        row.bytes_received += note.bytes_out;
        share(note);
    }

    // Server and load are in this process: the controller's part is what lies between their answers and its requests.
    void share(const sim::request_note& note) {
        const std::int64_t number = note.verb == "patch" || note.verb == "create" ? bench_job_of_path(note.path) : -1;
        if (number < 0 || static_cast<std::size_t>(number) >= shares_.size()) return;
        shares& of = shares_[static_cast<std::size_t>(number)];
        if (of.over) return;
        of.served += note.took;
        of.over = note.resource == "jobsets";
        if (of.over) to_.own_time(clock::now() - of.made - of.served);
    }

    void follow() {
        while (const sim::change* const next = box_.objects().objects().next(seen_)) {
            seen_ = next->version;
            if (next->after == nullptr) continue;
            if (!applied_ && next->of != jobs_ && next->after->name.starts_with(bench_job_name(0))) {
                applied_ = true;
                to_.first_apply();
            }
            if (next->of == job_sets_ && next->before == nullptr) to_.job_set(bench_job_number(next->after->name));
            if (next->of == jobs_ && is_over(next->after) && !is_over(next->before))
                to_.ended(bench_job_number(next->after->name));
        }
    }

    using clock = std::chrono::steady_clock;
    struct shares {
        clock::time_point made{};
        std::chrono::nanoseconds served{};  // requests for it, inside of the server
        bool over = false;
    };

    bench_load load_;
    bool ends_;
    std::string kubeconfig_;
    bench_events to_;
    std::map<std::string, bench_traffic> traffic_;
    std::uint64_t watch_bytes_ = 0;
    std::uint64_t seen_ = 0;
    bool applied_ = false;
    std::vector<shares> shares_;
    const sim::kind* jobs_ = nullptr;
    const sim::kind* job_sets_ = nullptr;
    box box_;
};

}  // namespace

std::unique_ptr<bench_target> make_box_target(asio::io_context& loop, const bench_options& options, std::string dir,
                                              bench_events to) {
    return std::make_unique<box_target>(loop, options, std::move(dir), std::move(to));
}

}  // namespace cotrain::app
