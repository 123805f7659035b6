// Exceptions thrown where objects are taken in: each costs one object or one request, and nothing else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "watch/scripted_api.hpp"
#include "watch/taking.hpp"

namespace cotrain::watch {
namespace {

using testing::ElementsAre;

// Passes on what it hears, but throws for objects called "bad" and for whole relists.
class touchy final : public listener {
   public:
    explicit touchy(heard& to, const text_table& texts) : to_(to), texts_(texts) {}
    void changed(const object_change& what) override {
        refuse(*what.object);
        to_.changed(what);
    }
    void removed(kind of, const object_record& last) override {
        refuse(last);
        to_.removed(of, last);
    }
    void synced(kind of) override {
        to_.synced(of);
        throw std::runtime_error("synced");
    }
    void missing(kind of) override {
        to_.missing(of);
        throw std::runtime_error("missing");
    }

   private:
    void refuse(const object_record& r) const {
        if (texts_.view(r.key) == "ns/bad") throw std::runtime_error("it is bad");
    }
    heard& to_;
    const text_table& texts_;
};

struct mistakes : testing::Test {
    text_table texts;
    object_store store{texts};
    heard written{texts};
    touchy listener{written, texts};
    std::vector<std::string> lines;
    base::logger log{
        [](void* to, std::string_view line) { static_cast<std::vector<std::string>*>(to)->emplace_back(line); }, &lines,
        base::level::info};
    intake in{kind::limit_range, store, texts, listener, log};

    void take(const std::string& object, bool gone = false) {
        object_view view;
        ASSERT_TRUE(decode_object(object, view, in.parts()));
        gone ? in.remove(view) : in.upsert(view);
    }
    [[nodiscard]] auto told() const {
        return std::ranges::count_if(lines, [](const std::string& line) {
            return line.contains("unexpected exception") && line.contains(R"("kind":"LimitRange")");
        });
    }
};

TEST_F(mistakes, of_a_listener_cost_no_other_object_and_leave_the_store_right) {
    in.begin_relist();
    take(object("bad", 1));
    take(object("good", 2));
    in.end_relist("2");
    EXPECT_THAT(written.lines, ElementsAre("LimitRange ns/good changed added", "LimitRange synced"));
    EXPECT_EQ(store.size(), 2U);
    EXPECT_EQ(told(), 2);
    EXPECT_TRUE(lines[0].contains(R"("namespace":"ns","name":"bad","error":"it is bad")")) << lines[0];
    take(object("bad", 3), true);
    EXPECT_EQ(store.size(), 1U);
    EXPECT_EQ(told(), 3);
}

TEST_F(mistakes, in_a_sweep_leave_nothing_behind) {
    take(object("bad", 1));
    take(object("good", 2));
    in.vanish();
    EXPECT_EQ(store.size(), 0U);
    EXPECT_THAT(written.lines,
                ElementsAre("LimitRange ns/good changed added", "LimitRange ns/good removed", "LimitRange missing"));
    EXPECT_EQ(told(), 3);
}

TEST(informer, a_request_that_ends_in_an_exception_is_made_again) {
    scripted here(kind::limit_range, {refuse(500, "InternalError"),
                                      streams({line("ADDED", object("a", 1)), bookmark(1, true)}, step::end::held)});
    here.api.log = base::logger(
        [](void* to, std::string_view text) {
            auto& lines = *static_cast<std::vector<std::string>*>(to);
            const bool first = std::ranges::none_of(lines, [](const auto& l) { return l.contains("watch restarted"); });
            lines.emplace_back(text);
            if (first && text.contains("watch restarted")) throw std::runtime_error("the log is full");
        },
        &here.api.lines, base::level::info);
    here.run([](scripted& s, informer& watcher) -> awaitable<void> {
        co_await s.listener.until("LimitRange synced");
        EXPECT_TRUE(watcher.in_sync());
    });
    EXPECT_TRUE(std::ranges::any_of(here.api.lines, [](const std::string& l) {
        return l.contains(R"("unexpected exception","in":"list or watch")") && l.contains("the log is full");
    }));
}

}  // namespace
}  // namespace cotrain::watch
