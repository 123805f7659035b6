// The list/watch machine: each rule once, then a simulated API server with faults at random.
#include "watch/list_watch.hpp"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <vector>

namespace cotrain::watch {
namespace {

using namespace std::chrono_literals;
using ask = list_watch::ask;
using happens = watcher_event;

base::error status(int code, std::string reason = {}, std::optional<std::chrono::milliseconds> after = {}) {
    base::error e = base::make_error(base::errc::status, "refused");
    e.http_status = code;
    e.reason = std::move(reason);
    e.retry_after = after;
    return e;
}

base::error broken() { return base::make_error(base::errc::lost, "reset by peer"); }

std::string object_line(std::string_view type, std::string_view name, int version) {
    return R"({"type":")" + std::string(type) + R"(","object":{"kind":"TrainJob","metadata":{"name":")" +
           std::string(name) + R"(","resourceVersion":")" + std::to_string(version) + R"("}}})";
}

std::string bookmark_line(int version, bool ends_initial) {
    return R"({"type":"BOOKMARK","object":{"kind":"TrainJob","metadata":{"resourceVersion":")" +
           std::to_string(version) + "\"" +
           (ends_initial ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : "") +
           R"(,"creationTimestamp":null}}})";
}

std::string error_line(int code, std::string_view reason) {
    return R"({"type":"ERROR","object":{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":)"
           R"("too old resource version","reason":")" +
           std::string(reason) + R"(","code":)" + std::to_string(code) + "}}";
}

struct machine {
    explicit machine(bool streams = true, bool needed = true) {
        list_watch_options o;
        o.stream_initial_state = streams;
        o.needed = needed;
        m.emplace(o);
    }
    list_watch::action next() { return m->next(now, random); }
    // Waits as long as it says, and gives what comes then.
    list_watch::action after_rest() {
        auto a = next();
        if (a.what == ask::wait) {
            now = a.until;
            a = next();
        }
        return a;
    }
    list_watch::outcome line(std::string text) {
        event_view e;
        EXPECT_TRUE(decode_event(text, e)) << text;
        return m->event(e, now);
    }
    void sync() {
        EXPECT_EQ(next().what, ask::watch);
        line(bookmark_line(100, true));
    }

    std::optional<list_watch> m;
    moment now{1000s};
    base::random_source random{1};
};

TEST(list_watch, streams_the_initial_state_and_goes_on_in_the_same_stream) {
    machine t;
    const auto a = t.next();
    ASSERT_EQ(a.what, ask::watch);
    EXPECT_TRUE(a.init);
    EXPECT_EQ(a.resource_version, "");
    EXPECT_EQ(t.line(object_line("ADDED", "a", 50)).event, happens::init_apply);
    EXPECT_EQ(t.m->resource_version(), "");  // initial events come in any order
    EXPECT_EQ(t.line(bookmark_line(60, false)).event, happens::none);
    EXPECT_FALSE(t.m->synced());
    EXPECT_EQ(t.line(bookmark_line(100, true)).event, happens::init_done);
    EXPECT_TRUE(t.m->synced());
    EXPECT_EQ(t.m->resource_version(), "100");
    EXPECT_EQ(t.line(object_line("DELETED", "a", 101)).event, happens::remove);
    EXPECT_EQ(t.m->resource_version(), "101");
    EXPECT_EQ(t.line(bookmark_line(180, false)).event, happens::none);
    EXPECT_EQ(t.m->resource_version(), "180");
    EXPECT_EQ(t.next().what, ask::answer);
}

TEST(list_watch, begins_anew_when_the_initial_state_breaks_off) {
    machine t;
    EXPECT_EQ(t.next().what, ask::watch);
    t.line(object_line("ADDED", "a", 50));
    t.m->failed(broken(), t.now);
    const auto a = t.after_rest();
    EXPECT_TRUE(a.init);
    EXPECT_EQ(t.m->restarts(restart_reason::connection), 1U);
}

TEST(list_watch, resumes_a_watch_that_ended_where_it_was) {
    machine t;
    t.sync();
    t.line(object_line("MODIFIED", "a", 120));
    t.m->ended(t.now);
    const auto a = t.next();  // at once: there was progress
    ASSERT_EQ(a.what, ask::watch);
    EXPECT_EQ(a.resource_version, "120");
    EXPECT_FALSE(a.init);
    EXPECT_GE(a.timeout, 290s);
    EXPECT_LT(a.timeout, 580s);
    // Nothing came: not so quick any more.
    moment before = t.now;
    for (int i = 0; i < 12; ++i) {
        t.m->ended(t.now);
        EXPECT_EQ(t.next().what, ask::wait);
        EXPECT_EQ(t.after_rest().what, ask::watch);
    }
    EXPECT_GT(t.now - before, 20s);
    EXPECT_EQ(t.m->restarts(restart_reason::ended), 13U);
}

TEST(list_watch, takes_a_new_relist_on_410_wherever_it_shows) {
    for (const bool in_stream : {false, true}) {
        machine t;
        t.sync();
        if (in_stream) {
            EXPECT_TRUE(t.line(error_line(410, "Expired")).close);
        } else {
            t.m->failed(status(410, "Expired"), t.now);
        }
        const auto a = t.next();
        ASSERT_EQ(a.what, ask::watch) << in_stream;
        EXPECT_TRUE(a.init);
        EXPECT_TRUE(t.m->synced());
        EXPECT_EQ(t.m->restarts(restart_reason::expired), 1U);
    }
}

TEST(list_watch, waits_while_the_server_fills_its_storage) {
    machine t;
    EXPECT_EQ(t.next().what, ask::watch);
    t.m->failed(status(429, "TooManyRequests", 3s), t.now);
    const auto a = t.next();
    ASSERT_EQ(a.what, ask::wait);
    EXPECT_GE(a.until, t.now + 3s);
    EXPECT_TRUE(t.after_rest().init);
    EXPECT_EQ(t.m->restarts(restart_reason::throttled), 1U);
    t.m->failed(status(429, "TooManyRequests", 24h), t.now);
    EXPECT_LE(t.next().until, t.now + 60s);
}

TEST(list_watch, remembers_a_server_that_refuses_to_stream) {
    machine t;
    EXPECT_EQ(t.next().what, ask::watch);
    t.m->failed(status(422, "Invalid"), t.now);
    auto a = t.next();
    ASSERT_EQ(a.what, ask::list);
    EXPECT_TRUE(a.init);
    EXPECT_EQ(a.limit, 500U);
    EXPECT_EQ(t.m->page_done({"70", "more", 3}), happens::none);
    a = t.next();
    ASSERT_EQ(a.what, ask::list);
    EXPECT_EQ(a.continue_token, "more");
    EXPECT_FALSE(a.init);
    EXPECT_EQ(t.m->page_done({"70", "", 0}), happens::init_done);
    a = t.next();
    ASSERT_EQ(a.what, ask::watch);
    EXPECT_EQ(a.resource_version, "70");
    t.m->failed(status(410), t.now);
    EXPECT_EQ(t.after_rest().what, ask::list);
    EXPECT_EQ(t.m->restarts(restart_reason::unsupported), 1U);
}

TEST(list_watch, notices_a_server_that_ignores_the_wish_to_stream) {
    machine t;
    EXPECT_EQ(t.next().what, ask::watch);
    t.line(object_line("ADDED", "a", 5));
    const auto a = t.next();
    EXPECT_EQ(a.what, ask::answer);
    EXPECT_EQ(a.until, t.now + 60s);
    t.now = a.until;
    EXPECT_EQ(t.next().what, ask::abandon);
    EXPECT_EQ(t.after_rest().what, ask::list);
}

TEST(list_watch, starts_the_list_again_when_its_pages_expire_and_at_last_asks_for_all_at_once) {
    machine t(false);
    for (int i = 0; i < 2; ++i) {
        EXPECT_EQ(t.after_rest().limit, 500U);
        EXPECT_EQ(t.m->page_done({"70", "more", 3}), happens::none);
        EXPECT_EQ(t.next().continue_token, "more");
        t.m->failed(status(410, "Expired"), t.now);
    }
    const auto a = t.after_rest();
    EXPECT_EQ(a.limit, 0U);
    EXPECT_EQ(a.continue_token, "");
    EXPECT_TRUE(a.init);
    EXPECT_EQ(t.m->page_done({"80", "", 0}), happens::init_done);
}

TEST(list_watch, asks_for_the_same_page_again_when_the_connection_broke) {
    machine t(false);
    EXPECT_EQ(t.next().what, ask::list);
    EXPECT_EQ(t.m->page_done({"70", "more", 3}), happens::none);
    EXPECT_EQ(t.next().continue_token, "more");
    t.m->failed(broken(), t.now);
    const auto a = t.after_rest();
    EXPECT_EQ(a.continue_token, "more");
    EXPECT_FALSE(a.init);
}

TEST(list_watch, resumes_after_garbage_but_not_for_ever) {
    for (const auto code : {base::errc::decode, base::errc::too_large}) {
        machine t;
        t.sync();
        for (int i = 0; i < 3; ++i) {
            t.m->failed(base::make_error(code, "no event"), t.now);
            const auto a = t.after_rest();
            ASSERT_EQ(a.what, ask::watch);
            EXPECT_EQ(a.resource_version, "100");
        }
        t.m->failed(base::make_error(code, "no event"), t.now);
        EXPECT_TRUE(t.after_rest().init);
    }
}

TEST(list_watch, abandons_a_watch_that_the_server_should_have_closed) {
    machine t;
    t.sync();
    t.m->ended(t.now);
    const auto a = t.next();
    t.now += a.timeout + 30s;
    EXPECT_EQ(t.next().what, ask::abandon);
    EXPECT_EQ(t.after_rest().resource_version, "100");
    EXPECT_EQ(t.m->restarts(restart_reason::stalled), 1U);
}

TEST(list_watch, waits_for_a_kind_that_does_not_exist) {
    machine t;
    for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(t.after_rest().what, ask::watch);
        t.m->failed(status(404, "NotFound"), t.now);
        EXPECT_TRUE(t.m->missing());
        EXPECT_LE(t.next().until, t.now + 30s);
    }
    EXPECT_EQ(t.after_rest().what, ask::watch);
    t.line(bookmark_line(5, true));
    EXPECT_FALSE(t.m->missing());
    EXPECT_TRUE(t.m->synced());
}

// --- a simulated server --------------------------------------------------------------------------------------------

using objects = std::map<std::string, int>;  // name → resourceVersion

struct server {
    enum class mode { streams, refuses, ignores } how = mode::streams;
    int version = 1;
    int compacted = 0;  // history up to here is gone
    std::map<int, objects> past{{1, {}}};
    struct entry {
        int version;
        std::string type;
        std::string name;
    };
    std::vector<entry> log;

    const objects& now() const { return past.at(version); }
    void mutate(base::random_source& random) {
        objects next = now();
        const std::string name(1, static_cast<char>('a' + random.next() % 20));
        ++version;
        if (next.contains(name) && random.next() % 2 == 0) {
            next.erase(name);
            log.push_back({version, "DELETED", name});
        } else {
            log.push_back({version, next.contains(name) ? "MODIFIED" : "ADDED", name});
            next[name] = version;
        }
        past[version] = std::move(next);
    }
};

// Performs the machine's actions against the server, one small step at a time, and keeps a store as a caller would.
struct client {
    client(server& s, std::uint64_t seed) : remote(s), random(seed), m(options()) {}

    static list_watch_options options() {
        list_watch_options o;
        o.page_items = 3;
        return o;
    }
    struct kept {
        int version = 0;
        bool seen = false;
    };

    void apply(happens what, const event_view& e) {
        if (what == happens::none || what == happens::init_done) return;
        std::string scratch;
        const std::string name(e.object.name.value(scratch));
        const int version = std::stoi(std::string(e.object.resource_version.raw));
        if (what == happens::remove) {
            store.erase(name);
        } else {
            store[name].version = std::max(store[name].version, version);
            store[name].seen = true;
        }
    }
    void complete() {
        std::erase_if(store, [](const auto& item) { return !item.second.seen; });
        const objects& expected = remote.past.at(std::stoi(m.resource_version()));
        ASSERT_EQ(shown(), expected);
        ++relists;
    }
    objects shown() const {
        objects p;
        for (const auto& [name, k] : store) p[name] = k.version;
        return p;
    }

    void answer_list(const list_watch::action& a, bool faulty) {
        if (faulty && random.next() % 5 == 0) return m.failed(random.next() % 2 ? broken() : status(503), now);
        int at = remote.version;
        std::string after;
        if (!a.continue_token.empty()) {
            at = std::stoi(a.continue_token);
            after = a.continue_token.substr(a.continue_token.find('/') + 1);
            if (at < remote.compacted) return m.failed(status(410, "Expired"), now);
        }
        std::uint32_t left = a.limit == 0 ? 1000 : a.limit;
        const objects& all = remote.past.at(at);
        page_trailer end{std::to_string(at), {}, 0};
        for (auto it = all.upper_bound(after); it != all.end(); ++it) {
            if (left-- == 0) {
                end.continue_token = std::to_string(at) + "/" + after;
                break;
            }
            after = it->first;
            event_view e;
            const std::string text = object_line("ADDED", it->first, it->second);
            ASSERT_TRUE(decode_event(text, e));
            apply(happens::init_apply, e);
        }
        if (m.page_done(end) == happens::init_done) complete();
    }
    void open_watch(const list_watch::action& a, bool faulty) {
        if (faulty && random.next() % 5 == 0) return m.failed(random.next() % 2 ? broken() : status(429), now);
        lines.clear();
        position = remote.log.size();
        if (a.init) {
            if (remote.how == server::mode::refuses) return m.failed(status(422, "Invalid"), now);
            for (const auto& [name, version] : remote.now()) lines.push_back(object_line("ADDED", name, version));
            if (remote.how == server::mode::streams) lines.push_back(bookmark_line(remote.version, true));
        } else {
            const int from = std::stoi(a.resource_version);
            if (from < remote.compacted) return m.failed(status(410, "Expired"), now);
            while (position > 0 && remote.log[position - 1].version > from) --position;
        }
        open = true;
    }
    void next_line(bool faulty) {
        if (faulty && random.next() % 25 == 0) {
            open = false;
            switch (random.next() % 4) {
                case 0: return m.ended(now);
                case 1: return m.failed(broken(), now);
                case 2: return m.failed(base::make_error(base::errc::decode, "half a line"), now);
                default: return feed(error_line(random.next() % 2 ? 500 : 410, "Whatever"));
            }
        }
        if (!lines.empty()) {
            const std::string line = lines.front();
            lines.erase(lines.begin());
            return feed(line);
        }
        if (position < remote.log.size()) {
            const auto& e = remote.log[position++];
            return feed(object_line(e.type, e.name, e.version));
        }
        if (random.next() % 10 == 0 && remote.how == server::mode::streams) feed(bookmark_line(remote.version, false));
    }
    void feed(const std::string& line) {
        event_view e;
        ASSERT_TRUE(decode_event(line, e));
        const auto v = m.event(e, now);
        apply(v.event, e);
        if (v.event == happens::init_done) complete();
        if (v.close) open = false;
    }
    void step(bool faulty) {
        now += std::chrono::milliseconds(random.next() % 200);
        const auto a = m.next(now, random);
        if (a.init)
            for (auto& [name, k] : store) k.seen = false;
        switch (a.what) {
            case ask::list: return answer_list(a, faulty);
            case ask::watch: return open_watch(a, faulty);
            case ask::wait: now = std::max(now, std::min(a.until, now + 5s)); return;
            case ask::abandon: open = false; return;
            case ask::answer:
                if (open) next_line(faulty);
                // Where nothing will ever come, time passes.
                if (open && lines.empty() && remote.how == server::mode::ignores && !m.synced()) now += 30s;
                return;
        }
    }

    server& remote;
    base::random_source random;
    list_watch m;
    moment now{1000s};
    std::map<std::string, kept> store;
    std::vector<std::string> lines;
    std::size_t position = 0;
    bool open = false;
    int relists = 0;
};

TEST(list_watch, ends_with_the_servers_state_whatever_happened) {
    int relists = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) {
        server remote;
        remote.how = static_cast<server::mode>(seed % 3);
        client c(remote, seed);
        for (int i = 0; i < 3000; ++i) {
            if (c.random.next() % 4 == 0) remote.mutate(c.random);
            if (c.random.next() % 100 == 0) remote.compacted = remote.version;
            c.step(true);
            if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << " step " << i;
        }
        for (int i = 0; i < 2000; ++i) c.step(false);
        ASSERT_EQ(c.shown(), remote.now()) << "seed " << seed;
        relists += c.relists;
    }
    EXPECT_GT(relists, 1500);
}

TEST(list_watch, looks_often_for_a_kind_that_is_missing) {
    machine t;
    for (int i = 0; i < 30; ++i) {
        const auto a = t.after_rest();
        ASSERT_EQ(a.what, ask::watch);
        t.m->failed(status(404, "NotFound"), t.now);
        const auto rest = t.next();
        ASSERT_EQ(rest.what, ask::wait);
        EXPECT_LE(rest.until - t.now, 5s);
    }
    EXPECT_TRUE(t.m->missing());
}

// How long it rests once a failure has come often enough.
std::chrono::milliseconds longest_rest(machine& t, const base::error& failure) {
    std::chrono::milliseconds longest{0};
    for (int i = 0; i < 40; ++i) {
        EXPECT_EQ(t.after_rest().what, ask::watch);
        t.m->failed(failure, t.now);
        const auto rest = t.next();
        EXPECT_EQ(rest.what, ask::wait);
        longest = std::max(longest, std::chrono::ceil<std::chrono::milliseconds>(rest.until - t.now));
    }
    return longest;
}

TEST(list_watch, notices_within_seconds_that_a_server_is_back) {
    for (const base::error& failure : {broken(), status(503), status(503, {}, 5s), status(429), status(500),
                                       base::make_error(base::errc::connect, "refused")}) {
        for (const bool synced : {false, true}) {
            machine t;
            if (synced) {
                t.sync();
                t.m->failed(failure, t.now);
            }
            const auto longest = longest_rest(t, failure);
            EXPECT_LE(longest, 4s) << failure.http_status;
            EXPECT_GT(longest, 2s) << failure.http_status;
        }
    }
}

TEST(list_watch, notices_within_seconds_that_rights_came_back) {
    machine t;
    EXPECT_LE(longest_rest(t, status(403)), 8s);
    machine once(true, false);
    once.sync();
    once.m->failed(status(403), once.now);
    EXPECT_LE(longest_rest(once, status(403)), 8s) << "what was there once may be needed";
}

TEST(list_watch, what_costs_the_server_much_is_asked_for_ever_more_slowly) {
    machine t;
    for (int i = 0; i < 12; ++i) {
        EXPECT_TRUE(t.after_rest().init);
        t.line(object_line("ADDED", "a", 50));
        t.m->failed(broken(), t.now);
    }
    EXPECT_GE(t.next().until - t.now, 15s);
    // One that it was not in: no connection at all.
    t.after_rest();
    t.m->failed(base::make_error(base::errc::connect, "refused"), t.now);
    EXPECT_LE(t.next().until - t.now, 4s);
}

TEST(list_watch, a_missing_kind_that_nobody_needs_costs_a_request_in_minutes) {
    machine t(true, false);
    int requests = 0;
    for (const moment end = t.now + 2h; t.now < end; ++requests) {
        ASSERT_EQ(t.after_rest().what, ask::watch);
        t.m->failed(status(404, "NotFound"), t.now);
    }
    EXPECT_LE(requests, 40);
    const auto rest = t.next().until - t.now;
    EXPECT_GE(rest, 240s);
    EXPECT_LE(rest, 360s);
    // A server that is away meanwhile changes nothing about that.
    t.after_rest();
    t.m->failed(broken(), t.now);
    t.after_rest();
    t.m->failed(status(404, "NotFound"), t.now);
    EXPECT_GE(t.next().until - t.now, 240s);
}

TEST(list_watch, looks_for_a_missing_kind_at_once_when_it_is_needed_and_often_for_a_while) {
    machine t(true, false);
    static_cast<void>(longest_rest(t, status(404, "NotFound")));
    t.now += 30s;
    EXPECT_TRUE(t.m->want(t.now));
    EXPECT_EQ(t.next().what, ask::watch);
    t.m->failed(status(404, "NotFound"), t.now);
    EXPECT_LE(t.next().until - t.now, 5s);
    EXPECT_FALSE(t.m->want(t.now)) << "it was asked just now";
    const moment wanted = t.now;
    while (t.now < wanted + 19min) {
        ASSERT_EQ(t.after_rest().what, ask::watch);
        t.m->failed(status(404, "NotFound"), t.now);
        ASSERT_LE(t.next().until - t.now, 5s);
    }
    t.now = wanted + 21min;
    ASSERT_EQ(t.after_rest().what, ask::watch);
    t.m->failed(status(404, "NotFound"), t.now);
    EXPECT_GE(t.next().until - t.now, 240s) << "nobody asked for it again";
    t.after_rest();
    t.line(bookmark_line(5, true));
    EXPECT_FALSE(t.m->want(t.now));
    EXPECT_TRUE(t.m->synced());
}

TEST(list_watch, what_was_denied_and_nobody_needs_waits_until_rights_may_have_come) {
    machine t(true, false);
    EXPECT_GT(longest_rest(t, status(403)), 240s);
    t.now += 10s;
    EXPECT_TRUE(t.m->ask_rights_again(t.now));
    EXPECT_EQ(t.next().what, ask::watch);
    EXPECT_FALSE(t.m->ask_rights_again(t.now)) << "a request is under way";
    t.m->failed(status(404, "NotFound"), t.now);
    static_cast<void>(t.next());
    EXPECT_FALSE(t.m->ask_rights_again(t.now)) << "rights are not what it lacks";
}

}  // namespace
}  // namespace cotrain::watch
