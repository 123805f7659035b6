// Watches: events however they are cut, and every way in which a watch can end.
#include <gtest/gtest.h>

#include "kube/fake_api.hpp"

namespace cotrain::kube {
namespace {

using namespace std::chrono_literals;

// Sends the pieces, then ends the stream, or leaves it open.
fake_api::responder streams(std::vector<std::string> pieces, bool ends) {
    struct sender {
        static awaitable<void> send(net::incoming in, std::vector<std::string> all, bool end) {
            in.begin(200, {{"content-type", "application/json"}});
            for (const std::string& piece : all)
                if (!co_await in.write(piece)) co_return;
            if (end)
                in.finish();
            else
                co_await in.until_gone();
        }
    };
    return [pieces = std::move(pieces), ends](fake_api&, net::incoming in) {
        return sender::send(std::move(in), pieces, ends);
    };
}

awaitable<void> read_all(watch_stream* stream, std::vector<std::string>* events, base::result<>* end) {
    for (;;) {
        auto event = co_await stream->next();
        if (!event) {
            *end = base::fail(std::move(event).error());
            co_return;
        }
        if (!*event) co_return;
        events->emplace_back(**event);
    }
}

TEST(watch, gives_events_and_a_clean_end) {
    fake_api api(streams({"{\"a\":", "1}\n{\"b\":2}\n{\"c", "\":3}\n"}, true));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        auto stream = co_await c.watch(job_set, "ns", {.resource_version = "7"});
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        std::vector<std::string> events;
        base::result<> end;
        co_await read_all(&*stream, &events, &end);
        EXPECT_TRUE(end.has_value());
        EXPECT_EQ(events, (std::vector<std::string>{"{\"a\":1}", "{\"b\":2}", "{\"c\":3}"}));
        EXPECT_TRUE(a.seen.at(0).head.path.contains("watch=1&resourceVersion=7"));
    });
}

TEST(watch, that_breaks_within_an_event_is_lost) {
    fake_api api(streams({"{\"a\":1}\n{\"b\""}, true));
    api.run([](fake_api&, client& c) -> awaitable<void> {
        auto stream = co_await c.watch(job_set, "ns", {});
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        std::vector<std::string> events;
        base::result<> end;
        co_await read_all(&*stream, &events, &end);
        EXPECT_EQ(events.size(), 1U);
        EXPECT_FALSE(end.has_value());
        if (end) co_return;
        EXPECT_EQ(end.error().code, base::errc::lost);
        EXPECT_EQ(end.error().message, "watch JobSet in ns: ended in the middle of an event");
    });
}

TEST(watch, whose_connection_goes_is_lost) {
    fake_api api(streams({"{\"a\":1}\n"}, false));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        auto stream = co_await c.watch(job_set, "ns", {});
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        EXPECT_TRUE((co_await stream->next()).has_value());
        a.server().drop_connections();
        const auto end = co_await stream->next();
        EXPECT_TRUE(!end && end.error().code == base::errc::lost);
    });
}

TEST(watch, that_outlives_its_time_is_given_up) {
    fake_api api(streams({"{\"a\":1}\n"}, false));
    api.options().watch_grace = 100ms;
    api.run([](fake_api&, client& c) -> awaitable<void> {
        auto stream = co_await c.watch(job_set, "ns", {.timeout = 0s});
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        EXPECT_TRUE((co_await stream->next()).has_value());
        for (int i = 0; i < 2; ++i) {
            const auto end = co_await stream->next();
            EXPECT_FALSE(end.has_value());
            if (end) co_return;
            EXPECT_EQ(end.error().code, base::errc::lost);
            EXPECT_EQ(end.error().message, "watch JobSet in ns: the server did not end the watch in time");
        }
    });
}

TEST(watch, bounds_an_event) {
    fake_api api(streams({std::string(200, 'x'), std::string(200, 'x')}, false));
    api.options().watch_line_bytes_max = 300;
    api.run([](fake_api&, client& c) -> awaitable<void> {
        auto stream = co_await c.watch(job_set, "ns", {});
        EXPECT_TRUE(stream.has_value());
        if (!stream) co_return;
        const auto end = co_await stream->next();
        EXPECT_TRUE(!end && end.error().code == base::errc::too_large);
    });
}

TEST(watch, that_is_refused_says_why) {
    fake_api api(answers({{410, {}, R"({"kind":"Status","reason":"Expired","message":"too old","code":410})"}}));
    api.run([](fake_api&, client& c) -> awaitable<void> {
        const auto stream = co_await c.watch(job_set, "", {});
        EXPECT_TRUE(!stream && stream.error().message == "watch JobSet: 410 Expired: too old");
    });
}

TEST(watch, is_opened_again_when_the_server_is_not_ready) {
    fake_api api(answers({{429, {{"retry-after", "0"}}, "storage is (re)initializing"}, {200, {}, "{}\n"}}));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        EXPECT_TRUE((co_await c.watch(job_set, "", {})).has_value());
        EXPECT_EQ(a.seen.size(), 2U);
    });
}

awaitable<void> refuse_without_end(fake_api&, net::incoming in) {
    in.begin(403, {});
    static_cast<void>(co_await in.write("you may n"));
    co_await in.until_gone();
}

TEST(watch, whose_refusal_never_ends_is_refused_all_the_same) {
    fake_api api(refuse_without_end);
    api.run([](fake_api&, client& c) -> awaitable<void> {
        const auto stream = co_await c.watch(job_set, "", {.with = {.deadline = 100ms}});
        EXPECT_TRUE(!stream && stream.error().http_status == 403);
    });
}

awaitable<void> read_for_ever(client* c, bool* ended) {
    struct mark {
        bool* flag;
        ~mark() { *flag = true; }
    } on_exit{ended};
    auto stream = co_await c->watch(job_set, "", {});
    while (stream && co_await stream->next()) {
    }
}

TEST(watch, reading_can_be_cancelled) {
    fake_api api(streams({"{\"a\":1}\n"}, false));
    api.run([](fake_api& a, client& c) -> awaitable<void> {
        base::task_group group(a.loop.get_executor());
        bool ended = false;
        group.spawn("reader", read_for_ever(&c, &ended));
        asio::steady_timer timer(a.loop.get_executor());
        while (c.statistics().wire.bytes_in < 40) {
            timer.expires_after(1ms);
            co_await timer.async_wait(use_tuple);
        }
        group.cancel();
        co_await group.join();
        EXPECT_TRUE(ended);
        EXPECT_EQ(c.statistics().wire.streams_open, 0U);
    });
}

}  // namespace
}  // namespace cotrain::kube
