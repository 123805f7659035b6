// The client against a live peer on loopback: answers, floods, back-pressure, deadlines, cancellation.
#include "net/client.hpp"

#include "net/world.hpp"

namespace cotrain::net {

awaitable<void> world::answer(incoming in) {
    const std::string path = in.head().path;
    ++seen[path];
    if (path == "/hang" || (path == "/hang-once" && seen[path] == 1)) {
        ++hanging;
        co_await in.until_gone();
        --hanging;
        co_return;
    }
    if (path.starts_with("/big?")) {
        std::size_t left = std::stoul(path.substr(5));
        in.begin(200, {});
        const std::string piece(16384, 'x');
        while (left > 0) {
            const std::size_t now = std::min(left, piece.size());
            if (!co_await in.write(std::string_view(piece).substr(0, now))) co_return;
            left -= now;
            written += now;
        }
        in.finish();
        co_return;
    }
    if (path == "/held") static_cast<void>(co_await held.wait());
    in.respond(200, {{"content-type", "text/plain"}}, in.head().method + " " + path + " " + std::string(in.body()));
}

namespace {

using namespace std::chrono_literals;

TEST(client, gets_a_whole_answer) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        request r = get("/a");
        r.method = "PATCH";
        r.body = "hello";
        auto answer = co_await c.send(std::move(r));
        EXPECT_TRUE(answer.has_value());
        if (!answer) co_return;
        EXPECT_EQ(answer->status, 200);
        EXPECT_EQ(answer->body, "PATCH /a hello");
        EXPECT_EQ(find_header(answer->headers, "content-type"), "text/plain");
    });
}

awaitable<void> send_one(client* c, int number, int* answered) {
    auto answer = co_await c->send(get("/n/" + std::to_string(number)));
    if (answer && answer->status == 200) ++*answered;
    if (!answer) ADD_FAILURE() << answer.error().message;
}

TEST(client, ten_thousand_requests_and_eight_streams_share_one_connection) {
    world here({.limits = {.peer_streams_max = 100}});
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        std::vector<body_stream> watches;
        for (int i = 0; i < 8; ++i) {
            request r = get("/big?100000000");
            r.rank = priority::watch;
            auto stream = co_await c.open(std::move(r));
            EXPECT_TRUE(stream.has_value());
            if (stream) watches.push_back(std::move(*stream));
        }
        int answered = 0;
        base::task_group flood(w.loop.get_executor());
        for (int i = 0; i < 10'000; ++i) flood.spawn("one", send_one(&c, i, &answered));
        co_await flood.join();
        EXPECT_EQ(answered, 10'000);
        EXPECT_EQ(c.counters().connects, 1U);
        EXPECT_EQ(c.counters().streams_open, 8U);
        for (auto& watch : watches) {
            auto piece = co_await watch.read();
            EXPECT_TRUE(piece && !piece->empty());
        }
    });
}

TEST(client, a_reader_that_does_not_read_holds_back_only_its_own_stream) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.limits.stream_window_bytes = 256U << 10U;
        client& c = w.use(o);
        constexpr std::size_t size = 8U << 20U;
        auto slow = co_await c.open(get("/big?" + std::to_string(size)));
        EXPECT_TRUE(slow.has_value());
        if (!slow) co_return;
        for (int i = 0; i < 200; ++i) {
            auto answer = co_await c.send(get("/quick"));
            EXPECT_TRUE(answer.has_value());
        }
        EXPECT_LT(w.written, 3U << 20U) << "the window must hold the sender back";
        auto all = co_await slow->read_all(size);
        EXPECT_TRUE(all && all->size() == size);
    });
}

TEST(client, a_deadline_ends_one_request_and_spares_the_connection) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        request r = get("/hang");
        r.deadline = 20ms;
        auto answer = co_await c.send(std::move(r));
        EXPECT_FALSE(answer.has_value());
        if (answer) co_return;
        EXPECT_EQ(answer.error().code, base::errc::deadline);
        EXPECT_NE(answer.error().message.find("no answer within 20 ms"), std::string::npos) << answer.error().message;
        EXPECT_TRUE((co_await c.send(get("/b"))).has_value());
        EXPECT_EQ(c.counters().connects, 1U);
        EXPECT_EQ(w.hanging, 0) << "the peer must be told that nobody waits";
    });
}

TEST(client, a_body_that_does_not_end_in_its_time_goes_no_further) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        constexpr std::size_t endless = 1'000'000'000;
        auto late = co_await c.open(get("/big?" + std::to_string(endless)));
        EXPECT_TRUE(late.has_value());
        if (!late) co_return;
        late->end_by(std::chrono::steady_clock::now());
        const auto all = co_await late->read_all(endless);
        EXPECT_EQ(all ? base::errc::internal : all.error().code, base::errc::deadline);
        const auto again = co_await late->read();
        EXPECT_EQ(again ? base::errc::internal : again.error().code, base::errc::deadline);
        EXPECT_EQ(c.counters().streams_open, 0U);
    });
}

awaitable<void> keep_ended(world* w, std::optional<body_stream>* kept) {
    client& c = w->use(w->options());
    auto body = co_await c.open(get("/big?1000"));
    EXPECT_TRUE(body.has_value());
    if (!body) co_return;
    body->end_by(std::chrono::steady_clock::now() + 1h);
    while (c.counters().streams_open != 0) EXPECT_TRUE((co_await c.send(get("/quick"))).has_value());
    const auto all = co_await body->read_all(1000);
    EXPECT_TRUE(all && all->size() == 1000);
    *kept = std::move(*body);
}

TEST(client, an_ended_body_with_time_left_may_outlive_the_client) {
    std::optional<body_stream> kept;
    {
        world here;
        here.run([&kept](world& w) { return keep_ended(&w, &kept); });
    }
    EXPECT_TRUE(kept.has_value());
}

TEST(client, an_answer_beyond_the_bound_is_refused) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.body_bytes_max = 100'000;
        client& c = w.use(o);
        auto answer = co_await c.send(get("/big?100001"));
        EXPECT_EQ(answer ? base::errc::internal : answer.error().code, base::errc::too_large);
        auto fits = co_await c.send(get("/big?100000"));
        EXPECT_TRUE(fits && fits->body.size() == 100'000);
    });
}

awaitable<void> send_and_forget(client* c, std::string path) {
    static_cast<void>(co_await c->send(get(std::move(path))));
}

TEST(client, cancelling_the_caller_cancels_the_stream) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        base::task_group callers(w.loop.get_executor());
        callers.spawn("hangs", send_and_forget(&c, "/hang"));
        while (w.hanging == 0) static_cast<void>(co_await c.send(get("/tick")));
        callers.cancel();
        co_await callers.join();
        while (w.hanging != 0) static_cast<void>(co_await c.send(get("/tick")));
        EXPECT_EQ(c.counters().streams_open, 0U);
    });
}

TEST(client, dropping_a_stream_cancels_it) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        {
            auto stream = co_await c.open(get("/big?100000000"));
            EXPECT_TRUE(stream.has_value());
            EXPECT_EQ(c.counters().streams_open, 1U);
        }
        EXPECT_EQ(c.counters().streams_open, 0U);
        EXPECT_TRUE((co_await c.send(get("/b"))).has_value());
        EXPECT_EQ(c.counters().connects, 1U);
    });
}

awaitable<void> expect_canceled(client* c, bool* done) {
    auto answer = co_await c->send(get("/hang"));
    EXPECT_EQ(answer ? base::errc::internal : answer.error().code, base::errc::canceled);
    *done = true;
}

TEST(client, stop_ends_requests_under_way) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client& c = w.use(w.options());
        bool done = false;
        w.tasks.spawn("hangs", expect_canceled(&c, &done));
        EXPECT_TRUE((co_await c.send(get("/b"))).has_value());
        co_await c.stop();
        co_await w.tasks.join();
        EXPECT_TRUE(done);
    });
}

TEST(client, more_watches_than_streams_open_a_second_connection_and_no_third) {
    world here;
    here.run([](world& w) -> awaitable<void> {
        client_options o = w.options();
        o.limits.streams_max = 4;
        o.limits.urgent_reserve = 2;
        client& c = w.use(o);
        std::vector<body_stream> watches;
        for (int i = 0; i < 6; ++i) {
            request r = get("/big?100000000");
            r.rank = priority::watch;
            r.deadline = 5s;
            auto stream = co_await c.open(std::move(r));
            EXPECT_TRUE(stream.has_value()) << i;
            if (stream) watches.push_back(std::move(*stream));
        }
        EXPECT_EQ(c.counters().connects, 2U);
        request late = get("/big?100000000");
        late.rank = priority::watch;
        late.deadline = 5s;
        watches.clear();
        EXPECT_TRUE((co_await c.open(std::move(late))).has_value());
        EXPECT_EQ(c.counters().connects, 2U);
    });
}

}  // namespace
}  // namespace cotrain::net
