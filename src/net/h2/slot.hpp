// What a session knows of one stream: its place in the queue, the body to be sent, its state; and the table of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/byte_queue.hpp"
#include "net/h2/session.hpp"
#include "net/http.hpp"

namespace cotrain::net::h2 {

// Requests that wait for a stream: highest rank first, oldest first within a rank, and who may take the last streams.

// How many streams may be in use, and how many of them are kept for urgent requests.
struct stream_budget {
    std::uint32_t streams = 0;
    std::uint32_t urgent_reserve = 0;

    // Streams that may be in use before a request of this rank starts. Reads and writes leave the urgent reserve
    // (at most half of a small budget, so that they never starve), watches leave one stream for the lease.
    [[nodiscard]] std::uint32_t usable_by(priority rank) const;
};

// A request's place in the queue; the queue links what its owner stores.
struct queue_place {
    queue_place* before = nullptr;
    queue_place* after = nullptr;
    priority rank = priority::read;
};

class request_queue {
   public:
    void push(queue_place& place);
    void remove(queue_place& place);
    // The next request that may start while `open` streams are in use, or null. It stays in the queue.
    [[nodiscard]] queue_place* next(std::size_t open, stream_budget budget) const;
    // The next request whatever the budget, or null.
    [[nodiscard]] queue_place* first() const;
    [[nodiscard]] std::size_t size() const { return size_; }
    // How many would go before a new request of this rank.
    [[nodiscard]] std::size_t ahead_of(priority rank) const;

   private:
    struct list {
        queue_place* head = nullptr;
        queue_place* tail = nullptr;
        std::size_t size = 0;
    };
    [[nodiscard]] list& of(const queue_place& place) { return ranks_[static_cast<std::size_t>(place.rank)]; }

    std::array<list, 4> ranks_;
    std::size_t size_ = 0;
};

// The body of a response between the handler that writes it and the frames that carry it.

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

// What a session knows of one stream, and the table that recycles these records.

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
