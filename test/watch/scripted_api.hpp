// An API server that plays a script for the requests on one collection, and an informer beside it, on one loop.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kube/fake_api.hpp"
#include "watch/heard.hpp"
#include "watch/informer.hpp"

namespace cotrain::watch {

// What the server does with one request: an answer, or a stream and its end.
struct step {
    enum class end : std::uint8_t { whole, clean, held };
    int status = 200;
    std::vector<std::string> pieces{};
    end how = end::whole;
    std::chrono::milliseconds frozen{0};  // nothing runs for that long then, as if the process had been stopped
};

inline step answer(int status, std::string body) { return {status, {std::move(body)}, step::end::whole}; }
inline step refuse(int status, std::string_view reason) {
    return answer(status, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"no",)"
                          R"("reason":")" +
                              std::string(reason) + R"(","code":)" + std::to_string(status) + "}");
}
inline step streams(std::vector<std::string> lines, step::end how) {
    for (std::string& line : lines) line += '\n';
    return {200, std::move(lines), how};
}

inline std::string object(std::string_view name, int version, std::string_view uid = "") {
    return R"({"metadata":{"name":")" + std::string(name) + R"(","namespace":"ns","uid":"u-)" +
           std::string(uid.empty() ? name : uid) + R"(","resourceVersion":")" + std::to_string(version) +
           R"("},"spec":{"limits":[],"n":)" + std::to_string(version) + "}}";
}
inline std::string line(std::string_view type, const std::string& of) {
    return R"({"type":")" + std::string(type) + R"(","object":)" + of + "}";
}
inline std::string bookmark(int version, bool ends = false) {
    return R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":")" + std::to_string(version) + "\"" +
           (ends ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") + "}}}";
}
inline std::string page(int version, const std::vector<std::string>& items, std::string_view token = "") {
    std::string text = R"({"kind":"List","metadata":{"resourceVersion":")" + std::to_string(version) +
                       R"(","continue":")" + std::string(token) + R"("},"items":[)";
    for (std::size_t i = 0; i < items.size(); ++i) text += (i == 0 ? "" : ",") + items[i];
    return text + "]}";
}

class scripted {
   public:
    // Behind the script's end, streams open and stay empty, and lists fail.
    scripted(kind of, std::vector<step> script)
        : api([this](kube::fake_api&, net::incoming in) { return play(this, std::move(in)); }),
          store(texts),
          listener(texts),
          of_(of),
          script_(script.begin(), script.end()) {
        options.timing.retry = options.timing.denied = options.timing.costly = options.timing.missing =
            options.timing.unneeded = {std::chrono::milliseconds(1), std::chrono::milliseconds(4), 2.0, 0.5};
        // The client's own patience is not what is tested.
        api.options().retry.throttled_max = 0;
        api.options().retry.failing_max = 0;
    }

    using body = awaitable<void> (*)(scripted&, informer&);
    void run(body what) {
        api.run([this, what](kube::fake_api&, kube::client& client) { return around(this, &client, what); });
        EXPECT_TRUE(script_.empty()) << script_.size() << " steps were not asked for";
    }
    // Waits until so many requests have come.
    [[nodiscard]] awaitable<void> requests(std::size_t count) {
        asio::steady_timer timer(api.loop);
        while (api.seen.size() < count) {
            timer.expires_after(std::chrono::milliseconds(1));
            co_await timer.async_wait(use_tuple);
        }
    }
    [[nodiscard]] const std::string& path(std::size_t request) const { return api.seen.at(request).head.path; }

    kube::fake_api api;
    text_table texts;
    object_store store;
    heard listener;
    informer_options options;
    bool silent_watches = false;      // the script is for lists
    std::function<void()> meanwhile;  // what happens once while a list is under way
    base::random_source random{7};

   private:
    static awaitable<void> around(scripted* self, kube::client* client, body what) {
        base::task_group group(self->api.loop.get_executor());
        informer watcher(self->of_, self->store,
                         {group, *client, self->texts, self->listener, self->random, self->api.log}, self->options);
        watcher.start();
        co_await what(*self, watcher);
        group.cancel();
        co_await group.join();
    }
    static awaitable<void> play(scripted* self, net::incoming in) {
        step todo{200, {}, step::end::held};
        const bool watch = in.head().path.contains("watch=1");
        if (!self->script_.empty() && !(watch && self->silent_watches)) {
            todo = std::move(self->script_.front());
            self->script_.pop_front();
        } else if (!watch) {
            todo = refuse(500, "InternalError");
        }
        if (!watch && self->meanwhile) std::exchange(self->meanwhile, nullptr)();
        if (todo.how == step::end::whole) {
            in.respond(todo.status, {}, todo.pieces.at(0));
            co_return;
        }
        in.begin(todo.status, {});
        for (const std::string& piece : todo.pieces)
            if (!co_await in.write(piece)) co_return;
        for (const auto due = std::chrono::steady_clock::now() + todo.frozen; std::chrono::steady_clock::now() < due;) {
        }
        if (todo.how == step::end::clean) in.finish();
        if (todo.how == step::end::held) co_await in.until_gone();
    }

    kind of_;
    std::deque<step> script_;
};

}  // namespace cotrain::watch
