// Behind a logger: which lines are written, and how they get out without waiting.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace cotrain::base {

// Of one cause a line is written at once and then at most one a period; of one message, whatever its causes, at most
// so many a period. The caller makes the texts: `message` of level and message, `cause` of these and of the fields.
class log_limiter {
   public:
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::seconds period{60};
    static constexpr std::uint32_t lines_of_message_max = 60;
    static constexpr std::size_t causes_max = 512;    // that are remembered
    static constexpr std::size_t messages_max = 256;  // as many constants the program has at most

    // Whether the line may be written, and how many lines of its cause were suppressed before it.
    [[nodiscard]] std::optional<std::uint64_t> admit(std::string_view message, std::string_view cause,
                                                     clock::time_point now);

    struct suppressed {
        std::string text;  // a cause, or a message where its causes were too many
        std::uint64_t lines = 0;
    };
    // What was suppressed and is due: of each text once a period, or everything.
    [[nodiscard]] std::vector<suppressed> take(clock::time_point now, bool everything = false);

    [[nodiscard]] std::size_t causes() const { return causes_.size(); }
    [[nodiscard]] std::size_t messages() const { return messages_.size(); }

   private:
    struct entry {
        clock::time_point begun;       // of the present period
        std::uint32_t written = 0;     // in it
        std::uint64_t suppressed = 0;  // since the last line
        [[nodiscard]] bool over(clock::time_point now) const { return now - begun >= period; }
        [[nodiscard]] bool done(clock::time_point now) const { return suppressed == 0 && over(now); }
    };
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
    };
    using table = std::unordered_map<std::string, entry, text_hash, std::equal_to<>>;

    [[nodiscard]] entry* find_or_add(table& in, std::string_view text, std::size_t entries_max, clock::time_point now);

    table causes_;
    table messages_;
};

// In front of a logger's sink: takes the lines of format_line(), and tells them apart by all but their time and their
// field reconcileID.
class limited_lines {
   public:
    using sink = void (*)(void* context, std::string_view line);
    static constexpr std::size_t cause_bytes_max = 1024;  // of longer lines the message alone is the cause

    limited_lines(sink out, void* context) : out_(out), context_(context) {}

    // A logger's sink whose context is a limited_lines.
    static void write(void* self, std::string_view line);
    // A line for each cause whose lines were suppressed and are due, with their number.
    void write_suppressed(bool everything = false);

   private:
    sink out_;
    void* context_;
    log_limiter limit_;
};

// Of stderr_logger(), whose lines are limited: to be called every period, and with `everything` at the end.
void write_suppressed_lines(bool everything = false);

// Writes whole lines to a descriptor whose reader may be slow or gone: never waits, and counts the lines that are lost.
// A line whose beginning did not find room is dropped. The rest of one that was begun goes out before the next, so that
// lines stay whole; once there is room again, a line of its own says how many were lost. The descriptor stays as it is:
// it may be shared with other processes.
class line_output {
   public:
    explicit line_output(int descriptor) : descriptor_(descriptor) {}

    void write(std::string_view line);
    // Lines that were dropped and not told of.
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

   private:
    [[nodiscard]] bool tell_lost();
    // Whether at least the beginning of the line went out.
    [[nodiscard]] bool begin(std::string_view line);
    // Whether all of `pending_` went out.
    [[nodiscard]] bool flush();

    int descriptor_;
    std::string pending_;
    std::uint64_t lost_ = 0;
};

}  // namespace cotrain::base
