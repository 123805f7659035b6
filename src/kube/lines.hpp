// Cuts a stream of chunks into lines without copying those that lie whole in one chunk.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace cotrain::kube {

class line_splitter {
   public:
    explicit line_splitter(std::size_t line_bytes_max) : line_bytes_max_(line_bytes_max) {}

    // The next chunk; it must stay in place until next() has returned nothing. Call only then.
    void feed(std::string_view chunk) { rest_ = chunk; }
    // The next whole line, without its line break and never empty, valid until the next call; nothing when another
    // chunk is needed. too_large when a line exceeds the bound: the stream is of no more use.
    [[nodiscard]] base::result<std::optional<std::string_view>> next();
    // Bytes of a line whose end has not come yet.
    [[nodiscard]] std::size_t pending() const { return carry_done_ ? 0 : carry_.size(); }

   private:
    std::size_t line_bytes_max_;
    std::string_view rest_;
    std::string carry_;        // a line that spans chunks
    bool carry_done_ = false;  // it was handed out
};

}  // namespace cotrain::kube
