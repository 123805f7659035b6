// The API server in this process, and what its requests and changes say.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <utility>

#include "base/task_group.hpp"
#include "bench/target.hpp"
#include "doc/json.hpp"
#include "playground/box.hpp"
#include "playground/private_file.hpp"

namespace cotrain::bench {

namespace {

constexpr std::string_view home = "default";

base::seconds_time wall() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

class box_target final : public bench_target {
   public:
    box_target(asio::io_context& loop, const bench_options& options, const scenario& of, std::string dir,
               bench_events to)
        : loop_(loop),
          of_(of),
          kubeconfig_(std::move(dir) + "/kubeconfig"),
          to_(std::move(to)),
          follower_(of, to_),
          box_(loop, options_of(options), base::null_logger()),
          tasks_(loop.get_executor()) {
        to_.done = [this, tell = std::move(to_.done)](std::int64_t number) {
            just_done_ = number;
            tell(number);
        };
    }

    awaitable<base::result<>> start() override {
        if (auto done = box_.start(); !done) co_return done;
        if (auto done = playground::write_private_file(kubeconfig_, box_.kubeconfig()); !done) co_return done;
        for (const auto* texts : {&of_.definitions, &of_.before})
            for (const std::string& each : *texts)
                if (auto done = create(each); !done) co_return done;
        seen_ = box_.objects().objects().version();
        type_ = find(of_.type);
        if (type_ == nullptr) co_return unknown(of_.type);
        co_return base::result<>{};
    }

    awaitable<base::result<>> make(std::int64_t number) override {
        follower_.made(number);
        if (static_cast<std::size_t>(number) >= shares_.size()) shares_.resize(static_cast<std::size_t>(number) + 1);
        shares_[static_cast<std::size_t>(number)].made = clock::now();
        co_return create(of_.object_of(number));
    }

    awaitable<base::result<>> update(std::int64_t number) override {
        follower_.update_begins(number);
        co_return patch(at(*type_, of_.name.of(number)), of_.update_of(number));
    }

    awaitable<base::result<>> remove(std::int64_t number) override {
        const auto done = box_.objects().remove(at(*type_, of_.name.of(number)), sim::removal{}, wall());
        if (!done) co_return base::fail(base::errc::internal, done.error().message);
        box_.changed();
        co_return base::result<>{};
    }

    std::string kubeconfig() const override { return kubeconfig_; }

    std::map<std::string, bench_traffic> take_traffic() override {
        const std::uint64_t brought = box_.server().counters().watch_bytes;
        traffic_["watch, events"].bytes_received += brought - watch_bytes_;
        watch_bytes_ = brought;
        return std::exchange(traffic_, {});
    }

    awaitable<void> stop() override {
        tasks_.cancel();
        co_await tasks_.join();
        co_await box_.stop();
    }

   private:
    playground::box_options options_of(const bench_options& options) {
        return {.train_jobs = of_.train_jobs,
                .script = options.script,
                .on_request = [this](const sim::request_note& note) { count(note); },
                .on_change = [this] { follow(); }};
    }

    [[nodiscard]] const sim::kind* find(const object_type& type) {
        return box_.objects().types().find(type.api_version, type.kind);
    }
    static sim::target at(const sim::kind& of, std::string name, std::string_view ns = home) {
        return {&of, of.namespaced ? std::string(ns) : std::string(), std::move(name)};
    }
    static std::unexpected<base::error> unknown(const object_type& type) {
        return base::fail(base::errc::invalid, fmt::format("the server does not know {} of {}: `definitions` says it",
                                                           type.kind, type.api_version));
    }

    base::result<> create(const std::string& text) {
        doc::arena memory;
        const auto document = doc::parse_json(memory, text);
        if (!document) return base::fail(document.error());
        const object_type type{std::string(document->get("apiVersion").as_string()),
                               std::string(document->get("kind").as_string())};
        const sim::kind* const of = find(type);
        if (of == nullptr) return unknown(type);
        const std::string_view ns = document->get({"metadata", "namespace"}).as_string();
        const auto done =
            box_.objects().create(at(*of, {}, ns.empty() ? home : ns), *document, {.manager = "cotrain-bench"}, wall());
        if (!done) return base::fail(base::errc::internal, fmt::format("{}: {}", type.kind, done.error().message));
        box_.changed();
        return {};
    }

    // What is gone by then stays so.
    base::result<> patch(const sim::target& where, const std::string& text) {
        doc::arena memory;
        const auto document = doc::parse_json(memory, text);
        if (!document) return base::fail(document.error());
        const auto done =
            box_.objects().patch(where, sim::patch_type::merge, *document, {.manager = "cotrain-bench"}, wall());
        if (!done && done.error().code != 404)
            return base::fail(base::errc::internal,
                              fmt::format("patch {} {}: {}", where.of->name, where.name, done.error().message));
        box_.changed();
        return {};
    }

    void count(const sim::request_note& note) {
        bench_traffic& row = traffic_[note.verb.empty() ? "other" : fmt::format("{} {}", note.verb, note.resource)];
        ++row.requests;
        row.bytes_sent += note.bytes_in;
        row.bytes_received += note.bytes_out;
        row.conflicts += note.status == 409 ? 1 : 0;
        row.unchanged += note.writes && note.status < 300 && !note.changed ? 1 : 0;
        if (note.writes) share(note);
    }

    // Server and load are in this process: the controller's part is what lies between their answers and its requests.
    void share(const sim::request_note& note) {
        std::int64_t number = of_.name.number_in_path(note.path);
        // A POST names no object: what became done is what it made.
        const std::int64_t done = note.changed ? std::exchange(just_done_, -1) : -1;
        if (number < 0) number = done;
        if (number < 0 || static_cast<std::size_t>(number) >= shares_.size()) return;
        shares& of = shares_[static_cast<std::size_t>(number)];
        if (of.over) return;
        of.served += note.took;
        of.over = follower_.is_done(number);
        if (of.over) to_.own_time(clock::now() - of.made - of.served);
    }

    void follow() {
        while (const sim::change* const next = box_.objects().objects().next(seen_)) {
            seen_ = next->version;
            const object_type type{next->of->api_version(), next->of->name};
            if (next->after == nullptr) {
                if (next->before != nullptr) follower_.removed(type, next->before->name);
                continue;
            }
            if (!wrote_ && (type != of_.type || next->before != nullptr) &&
                next->after->name.starts_with(of_.name.of(0))) {
                wrote_ = true;
                to_.first_write();
            }
            if (next->before == nullptr) begin_play(type, next->after->ns, next->after->name);
            doc::arena memory;
            follower_.changed(type, next->after->name, [&] { return sim::open(memory, *next->after); });
        }
    }

    void begin_play(const object_type& type, const std::string& ns, const std::string& name) {
        for (const played_kind& each : of_.players)
            if (each.type == type) tasks_.spawn("a player", play(&each, ns, name));
    }

    awaitable<void> play(const played_kind* what, std::string ns, std::string name) {
        asio::steady_timer timer(loop_, what->after);
        if (const auto [stopped] = co_await timer.async_wait(use_tuple); stopped) co_return;
        sim::target where = at(*find(what->type), std::move(name), ns);
        where.status = true;
        if (auto done = patch(where, what->status); !done) to_.failed("players: " + done.error().message);
    }

    using clock = std::chrono::steady_clock;
    struct shares {
        clock::time_point made{};
        std::chrono::nanoseconds served{};  // requests for it, inside of the server
        bool over = false;
    };

    asio::io_context& loop_;
    const scenario& of_;
    std::string kubeconfig_;
    bench_events to_;
    follower follower_;
    std::map<std::string, bench_traffic> traffic_;
    std::uint64_t watch_bytes_ = 0;
    std::uint64_t seen_ = 0;
    bool wrote_ = false;
    std::int64_t just_done_ = -1;  // by the request that is being answered
    std::vector<shares> shares_;
    const sim::kind* type_ = nullptr;
    playground::box box_;
    base::task_group tasks_;
};

}  // namespace

std::unique_ptr<bench_target> make_box_target(asio::io_context& loop, const bench_options& options, const scenario& of,
                                              std::string dir, bench_events to) {
    return std::make_unique<box_target>(loop, options, of, std::move(dir), std::move(to));
}

}  // namespace cotrain::bench
