// All informers over an API server that plays scripts by collection, on one loop.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/random.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "watch/informer.hpp"
#include "watch/scripted_api.hpp"

namespace cotrain::watch {

// Answers by what the path names ("plural", or "namespace/plural"); collections that no script speaks of are empty.
struct together {
    std::map<std::string, std::deque<step>> scripts;
    kube::fake_api api;
    text_table texts;
    heard listener{texts};
    base::random_source random{5};
    informers_options options;
    base::signal let_end;  // a stream that ends cleanly waits for it

    together() : api([this](kube::fake_api&, net::incoming in) { return play(this, std::move(in)); }) {
        options.timing.retry = options.timing.denied = options.timing.costly = options.timing.missing =
            options.timing.unneeded = {std::chrono::milliseconds(1), std::chrono::milliseconds(4), 2.0, 0.5};
        api.options().retry.throttled_max = 0;
        api.options().retry.failing_max = 0;
    }
    using body = awaitable<void> (*)(together&, informers&);
    void run(body what) {
        api.run([this, what](kube::fake_api&, kube::client& c) { return around(this, &c, what); });
    }

   private:
    static awaitable<void> around(together* self, kube::client* client, body what) {
        base::task_group group(self->api.loop.get_executor());
        informers all({group, *client, self->texts, self->listener, self->random, self->api.log}, self->options);
        all.start();
        co_await what(*self, all);
        group.cancel();
        co_await group.join();
    }
    static awaitable<void> play(together* self, net::incoming in) {
        const std::string& path = in.head().path;
        const std::string end = path.substr(0, path.find('?'));
        const std::string plural = end.substr(end.rfind('/') + 1);
        constexpr std::string_view before = "/namespaces/";
        const std::size_t at = end.find(before);
        const std::string in_namespace = at == end.npos ? plural : end.substr(at + before.size());
        step todo = streams({bookmark(1, true)}, step::end::held);
        auto& script = self->scripts[self->scripts.contains(in_namespace) ? in_namespace : plural];
        if (!script.empty()) {
            todo = std::move(script.front());
            script.pop_front();
        }
        if (todo.how == step::end::whole) co_return in.respond(todo.status, {}, todo.pieces.at(0));
        in.begin(todo.status, {});
        for (const std::string& piece : todo.pieces)
            if (!co_await in.write(piece)) co_return;
        if (todo.how == step::end::held) co_return co_await in.until_gone();
        static_cast<void>(co_await self->let_end.wait());
        in.finish();
    }
};

}  // namespace cotrain::watch
