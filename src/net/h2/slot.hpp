// What a session knows of one stream, and the table that recycles these records.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <vector>

#include "net/h2/outbox.hpp"
#include "net/h2/request_queue.hpp"
#include "net/h2/session.hpp"

namespace cotrain::net::h2 {

struct slot : queue_place {
    enum class phase : std::uint8_t { free, queued, running };

    stream_key key{};
    std::int32_t wire_id = 0;
    phase state = phase::free;
    bool announced = false;     // the owner knows the key and must hear on_close
    bool answered = false;      // client: the final head has come; server: respond() was called
    bool local_ended = false;   // we have sent END_STREAM
    bool remote_ended = false;  // the peer has
    bool peer_reset = false;
    std::uint32_t informational = 0;
    const char* breach = nullptr;  // what the peer did wrong, in the library's words
    std::size_t unconsumed = 0;    // given to on_data, not yet back by consume()

    // Client: borrowed until on_close.
    const request* what = nullptr;
    std::string_view scheme;
    std::string_view authority;
    std::size_t body_sent = 0;

    std::unique_ptr<outbox> out;  // server; kept when the record is recycled
};

// Records never move while they are in use. A key names its record and when it was taken, so a stale key finds nothing.
class slot_table {
   public:
    [[nodiscard]] slot& take();
    // The record of a key that is in use, or null.
    [[nodiscard]] slot* find(stream_key key);
    void release(slot& s);

    [[nodiscard]] std::size_t in_use() const { return slots_.size() - free_.size(); }
    // Records in use and free, by place: for walking over all of them.
    [[nodiscard]] std::size_t places() const { return slots_.size(); }
    [[nodiscard]] slot& at(std::size_t place) { return slots_[place]; }
    // Gives the memory of a past burst back, if nothing is in use.
    void shrink();

   private:
    static constexpr unsigned place_bits = 24;
    static constexpr std::size_t places_kept = 256;

    std::deque<slot> slots_;
    std::vector<std::uint32_t> free_;
    std::uint64_t taken_ = 0;
};

}  // namespace cotrain::net::h2
