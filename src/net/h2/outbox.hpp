// The body of a response between the handler that writes it and the frames that carry it.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/byte_queue.hpp"
#include "net/http.hpp"

namespace cotrain::net::h2 {

class outbox {
   public:
    explicit outbox(std::size_t bytes_max) : bytes_max_(bytes_max), waiting_(retain_bytes) {}

    // Takes the bytes in any case; false when the writer should wait until consume() says so.
    bool append(std::string_view bytes) {
        waiting_.append(bytes);
        if (waiting_.size() >= bytes_max_) full_ = true;
        return !full_;
    }
    void finish(header_list trailers) {
        finished_ = true;
        trailers_ = std::move(trailers);
    }
    // What was sent. True once after append() gave false, when half of the bound is free again.
    [[nodiscard]] bool consume(std::size_t bytes) {
        waiting_.consume(bytes);
        if (!full_ || waiting_.size() > bytes_max_ / 2) return false;
        full_ = false;
        return !finished_;
    }
    void reset() {
        waiting_.clear();
        trailers_.clear();
        full_ = finished_ = false;
    }

    [[nodiscard]] std::string_view bytes() const { return waiting_.view(); }
    [[nodiscard]] bool finished() const { return finished_; }
    [[nodiscard]] const header_list& trailers() const { return trailers_; }

   private:
    // Kept by an idle stream record; larger bodies give their memory back.
    static constexpr std::size_t retain_bytes = 4096;

    std::size_t bytes_max_;
    base::byte_queue waiting_;
    header_list trailers_;
    bool full_ = false;
    bool finished_ = false;
};

}  // namespace cotrain::net::h2
