// Whole lines to a descriptor that somebody else reads, or has stopped reading: never waits, and counts what is lost.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cotrain::base {

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
