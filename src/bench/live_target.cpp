// A real API server, in a namespace of its own.
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <filesystem>
#include <list>
#include <utility>

#include "base/random.hpp"
#include "base/task_group.hpp"
#include "bench/target.hpp"
#include "doc/json.hpp"
#include "kube/client.hpp"
#include "kube/config.hpp"

namespace cotrain::bench {

namespace {

constexpr kube::resource namespaces{"", "v1", "namespaces", "Namespace", false};

// A kind as the server has it, with the texts that a resource refers to.
struct served_kind {
    object_type type;
    std::string group;
    std::string version;
    std::string plural;
    bool namespaced = true;

    [[nodiscard]] kube::resource resource() const { return {group, version, plural, type.kind, namespaced}; }
};

class live_target final : public bench_target {
   public:
    live_target(asio::io_context& loop, const bench_options& options, const scenario& of, bench_events to)
        : loop_(loop),
          of_(of),
          kubeconfig_(std::filesystem::absolute(options.kubeconfig).string()),
          to_(std::move(to)),
          follower_(of, to_),
          ns_(fmt::format("cotrain-bench-{:08x}", base::random_source::from_system().next() & 0xffffffffU)),
          tasks_(loop.get_executor()) {}

    awaitable<base::result<>> start() override {
        const auto where = kube::find_config(kube::environment::of_process(), kubeconfig_);
        if (!where) co_return base::fail(where.error());
        auto made =
            kube::client::make(loop_.get_executor(), *where, {.user_agent = "cotrain-bench"}, base::null_logger());
        if (!made) co_return base::fail(std::move(made.error()));
        api_ = std::move(*made);
        const std::string space = fmt::format(R"({{"metadata":{{"name":"{}"}}}})", ns_);
        if (auto done = co_await api_->create(namespaces, "", space, {.field_manager = manager}); !done)
            co_return base::fail(std::move(done.error()));
        made_ = true;
        for (const std::string& each : of_.before)
            if (auto done = co_await create(each); !done) co_return done;
        co_return co_await begin_watches();
    }

    awaitable<base::result<>> make(std::int64_t number) override {
        follower_.made(number);
        co_return co_await create(of_.object_of(number));
    }

    awaitable<base::result<>> update(std::int64_t number) override {
        follower_.update_begins(number);
        const std::string name = of_.name.of(number);
        auto done = co_await api_->merge_patch((co_await find(of_.type)).value()->resource(), {ns_, name},
                                               of_.update_of(number), {.field_manager = manager});
        if (!done) co_return base::fail(std::move(done.error()));
        co_return base::result<>{};
    }

    awaitable<base::result<>> remove(std::int64_t number) override {
        const std::string name = of_.name.of(number);
        auto done = co_await api_->remove((co_await find(of_.type)).value()->resource(), {ns_, name});
        if (!done) co_return base::fail(std::move(done.error()));
        co_return base::result<>{};
    }

    std::string kubeconfig() const override { return kubeconfig_; }
    std::map<std::string, bench_traffic> take_traffic() override { return {}; }

    awaitable<void> stop() override {
        tasks_.cancel();
        co_await tasks_.join();
        if (!api_) co_return;
        // Without a garbage collector nothing goes by itself.
        for (const object_type& extra : {object_type{"v1", "ConfigMap"}, object_type{"v1", "Secret"}})
            if (made_) static_cast<void>(co_await find(extra));
        for (const served_kind& each : kinds_)
            if (made_ && each.namespaced) co_await remove_all(&each);
        for (const auto& [of, ns, name] : elsewhere_)
            static_cast<void>(co_await api_->remove(of->resource(), {ns, name}));
        if (made_) static_cast<void>(co_await api_->remove(namespaces, {"", ns_}));
        co_await api_->stop();
    }

   private:
    static constexpr std::string_view manager = "cotrain-bench";

    // Of the kinds of this run; asks the server for new ones.
    awaitable<base::result<const served_kind*>> find(object_type type) {
        const auto known = std::ranges::find(kinds_, type, &served_kind::type);
        if (known != kinds_.end()) co_return &*known;
        served_kind out{.type = type};
        const std::size_t slash = type.api_version.find('/');
        out.group = slash == std::string::npos ? "" : type.api_version.substr(0, slash);
        out.version = slash == std::string::npos ? type.api_version : type.api_version.substr(slash + 1);
        const auto served = co_await api_->discover(out.group, out.version);
        if (!served) co_return base::fail(served.error());
        for (const kube::served_resource& each : *served) {
            if (each.kind != type.kind || each.name.contains('/')) continue;
            out.plural = each.name;
            out.namespaced = each.namespaced;
            kinds_.push_back(std::move(out));
            co_return &kinds_.back();
        }
        co_return base::fail(base::errc::invalid,
                             fmt::format("the server does not know {} of {}", type.kind, type.api_version));
    }

    awaitable<base::result<>> create(std::string body) {
        doc::arena memory;
        const auto read = doc::parse_json_copy(memory, body);
        if (!read) co_return base::fail(read.error());
        const auto of = co_await find(
            {std::string(read->get("apiVersion").as_string()), std::string(read->get("kind").as_string())});
        if (!of) co_return base::fail(of.error());
        const std::string_view own = read->get({"metadata", "namespace"}).as_string();
        const std::string ns((*of)->namespaced ? (own.empty() ? std::string_view(ns_) : own) : std::string_view());
        auto done = co_await api_->create((*of)->resource(), ns, std::move(body), {.field_manager = manager});
        if (!done) co_return base::fail(std::move(done.error()));
        if (ns != ns_) elsewhere_.push_back({*of, ns, std::string(read->get({"metadata", "name"}).as_string())});
        co_return base::result<>{};
    }

    awaitable<void> remove_all(const served_kind* of) {
        auto path = kube::path_of(of->resource(), {ns_, ""});
        if (!path) co_return;
        kube::call what;
        what.attempt = fmt::format("delete all {} in {}", of->plural, ns_);
        what.http.method = "DELETE";
        what.http.path = *path + "?propagationPolicy=Background";
        what.http.idempotent = true;
        static_cast<void>(co_await api_->perform(std::move(what)));
    }

    awaitable<base::result<>> begin_watches() {
        std::vector<object_type> types{of_.type, of_.done.type};
        if (of_.ends) types.push_back(of_.ends->type);
        if (of_.updated) types.push_back(of_.updated->type);
        for (const played_kind& each : of_.players) types.push_back(each.type);
        std::vector<const served_kind*> watched;
        for (const object_type& each : types) {
            auto of = co_await find(each);
            if (!of) co_return base::fail(std::move(of.error()));
            if (std::ranges::contains(watched, *of)) continue;
            watched.push_back(*of);
            auto version = co_await version_of(*of);
            if (!version) co_return base::fail(std::move(version.error()));
            tasks_.spawn("watch", watch(*of, std::move(*version)));
        }
        co_return base::result<>{};
    }

    awaitable<base::result<std::string>> version_of(const served_kind* of) {
        auto page = co_await api_->list(of->resource(), space_of(of), {.limit = 1});
        if (!page) co_return base::fail(std::move(page.error()));
        doc::arena memory;
        const auto read = doc::parse_json(memory, page->body);
        if (!read) co_return base::fail(read.error());
        co_return std::string(read->get({"metadata", "resourceVersion"}).as_string());
    }

    [[nodiscard]] std::string space_of(const served_kind* of) const { return of->namespaced ? ns_ : std::string(); }

    // Events older than a watch's start are none of ours: the namespace is new.
    awaitable<void> watch(const served_kind* of, std::string version) {
        for (;;) {
            auto stream = co_await api_->watch(of->resource(), space_of(of), {.resource_version = version});
            while (stream) {
                const auto line = co_await stream->next();
                if (!line || !*line) break;
                take(of, **line, version);
            }
            if (stream) continue;
            to_.failed(stream.error().message);
            co_return;
        }
    }

    void take(const served_kind* of, std::string_view line, std::string& version) {
        doc::arena memory;
        const auto event = doc::parse_json(memory, line);
        if (!event) return;
        const doc::ref object = event->get("object");
        const std::string_view type = event->get("type").as_string();
        if (type == "ERROR") return to_.failed("watch: " + std::string(object.get("message").as_string()));
        version = object.get({"metadata", "resourceVersion"}).as_string();
        const std::string_view name = object.get({"metadata", "name"}).as_string();
        if (type == "DELETED") return follower_.removed(of->type, name);
        if (type == "BOOKMARK") return;
        for (const played_kind& each : of_.players)
            if (type == "ADDED" && each.type == of->type) tasks_.spawn("a player", play(&each, of, std::string(name)));
        follower_.changed(of->type, name, [&] { return object; });
    }

    awaitable<void> play(const played_kind* what, const served_kind* of, std::string name) {
        asio::steady_timer timer(loop_, what->after);
        if (const auto [stopped] = co_await timer.async_wait(use_tuple); stopped) co_return;
        const auto done = co_await api_->merge_patch(of->resource(), {space_of(of), name}, what->status,
                                                     {.field_manager = manager, .sub_resource = "status"});
        if (!done && done.error().http_status != 404) to_.failed("players: " + done.error().message);
    }

    asio::io_context& loop_;
    const scenario& of_;
    std::string kubeconfig_;
    bench_events to_;
    follower follower_;
    std::string ns_;
    std::unique_ptr<kube::client> api_;
    bool made_ = false;
    std::list<served_kind> kinds_;  // stay where they are
    struct made_elsewhere {
        const served_kind* of;
        std::string ns;
        std::string name;
    };
    std::vector<made_elsewhere> elsewhere_;  // outside of the namespace: is taken away one by one
    base::task_group tasks_;
};

}  // namespace

std::unique_ptr<bench_target> make_live_target(asio::io_context& loop, const bench_options& options, const scenario& of,
                                               bench_events to) {
    return std::make_unique<live_target>(loop, options, of, std::move(to));
}

}  // namespace cotrain::bench
