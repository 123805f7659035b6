// Decides when a silent peer is asked for a sign of life and when it counts as dead. Time is passed in.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

namespace cotrain::net {

using time_point = std::chrono::steady_clock::time_point;

class liveness {
   public:
    enum class action : std::uint8_t { none, ask, dead };

    liveness(std::chrono::milliseconds idle, std::chrono::milliseconds answer, time_point now)
        : idle_(idle), answer_(answer), heard_(now) {}

    // Any byte from the peer counts.
    void heard(time_point now) {
        heard_ = now;
        asked_.reset();
        doubted_ = false;
    }
    void configure(std::chrono::milliseconds idle, std::chrono::milliseconds answer) {
        idle_ = idle;
        answer_ = answer;
    }
    // Someone has reason to doubt: ask now, whatever the silence so far.
    void doubt(time_point now) {
        if (!asked_) heard_ = now - idle_;
        doubted_ = true;
    }
    // … and nothing has come since.
    [[nodiscard]] bool doubted() const { return doubted_; }
    // What is due at `now`; `ask` is returned once per silence.
    [[nodiscard]] action tick(time_point now) {
        if (asked_) return now - *asked_ >= answer_ ? action::dead : action::none;
        if (now - heard_ < idle_) return action::none;
        asked_ = now;
        return action::ask;
    }
    // When tick() has something to say at the earliest.
    [[nodiscard]] time_point next() const { return asked_ ? *asked_ + answer_ : heard_ + idle_; }

   private:
    std::chrono::milliseconds idle_;
    std::chrono::milliseconds answer_;
    time_point heard_;
    std::optional<time_point> asked_;
    bool doubted_ = false;
};

}  // namespace cotrain::net
