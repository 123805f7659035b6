// A listener that writes down what it hears, one short line each, for tests to wait for and compare.
#pragma once

#include <new>
#include <string>
#include <utility>
#include <vector>

#include "base/asio.hpp"
#include "base/signal.hpp"
#include "watch/intake.hpp"
#include "watch/text_table.hpp"

namespace cotrain::watch {

class heard final : public listener {
   public:
    explicit heard(const text_table& texts) : texts_(&texts) {}

    void changed(const object_change& what) override {
        std::string line = std::string(label(what.of)) + " " + key(*what.object) + " changed";
        if ((what.changes & added) != 0) line += " added";
        if ((what.changes & replaced) != 0) line += " replaced";
        if ((what.changes & spec_changed) != 0) line += " spec";
        if ((what.changes & status_changed) != 0) line += " status";
        if (what.group_before != no_text) line += " from " + std::string(texts_->view(what.group_before));
        note(std::move(line));
    }
    void removed(kind of, const object_record& last) override {
        note(std::string(label(of)) + " " + key(last) + " removed");
    }
    void synced(kind of) override { note(std::string(label(of)) + " synced"); }
    void missing(kind of) override { note(std::string(label(of)) + " missing"); }

    // Waits until so many lines are there.
    [[nodiscard]] awaitable<void> until(std::size_t count) {
        while (lines.size() < count) co_await more_.wait();
    }
    // Waits until there is such a line, behind the first `from`.
    [[nodiscard]] awaitable<void> until(std::string line, std::size_t from = 0) {
        for (;;) {
            for (std::size_t i = from; i < lines.size(); ++i)
                if (lines[i] == line) co_return;
            co_await more_.wait();
        }
    }

    std::vector<std::string> lines;
    bool fails_once = false;  // there is no memory for the next line

   private:
    static std::string_view label(kind of) { return info_of(of).label; }
    std::string key(const object_record& r) const { return std::string(texts_->view(r.key)); }
    void note(std::string line) {
        if (std::exchange(fails_once, false)) throw std::bad_alloc();
        lines.push_back(std::move(line));
        if (more_.waiting()) more_.notify_later();
    }

    const text_table* texts_;
    base::signal more_;
};

}  // namespace cotrain::watch
