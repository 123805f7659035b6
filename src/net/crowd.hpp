// Fairness among the peers of a server: who has a place, and whose requests take how much memory. Pure.
#pragma once

#include <array>
#include <boost/asio/ip/address.hpp>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "net/liveness.hpp"

namespace cotrain::net {

// Where a connection comes from, as far as fairness goes.

// An IPv4 address, or an IPv6 network of 64 bits: a machine has as many addresses of its network as it likes.
struct source {
    std::array<unsigned char, 16> bytes{};

    friend auto operator<=>(const source&, const source&) = default;
};

[[nodiscard]] source source_of(const boost::asio::ip::address& address);

// Who gets one of a server's places, and who gives one up. Pure.

// A connection that has a place.
struct occupant {
    source from;
    // Since when only its peer can go on: it asks for nothing, or sends a request bit by bit. None while we work for
    // it.
    std::optional<time_point> waiting_since;
};

struct crowd_limits {
    std::size_t connections_max;
    std::size_t connections_per_source_max;
};

// What becomes of a connection that has come.
struct entry_verdict {
    bool admitted = false;
    std::optional<std::size_t> leaves;  // the place of who has to go for it
};

// A new connection from `from`. Who waited longest goes: of the same source when that has as many as it may; else of
// the sources that have most, so that nobody loses a connection to a source that opens many.
[[nodiscard]] entry_verdict admit(std::span<const occupant> present, const source& from, crowd_limits limits);

// One account for the memory that strangers' requests take: heads, bodies, what is parsed out of them, answers that
// nobody takes. All servers of a process share it.

// Memory is claimed before it is taken. When a claim does not fit, requests are ended until it does: of the source
// that holds most the largest, and so on. Only who asks for more than `small_bytes` may be that one itself; and a part
// of the account is for small requests only. Single-threaded.
class memory_account {
   public:
    // A request up to this size is ended for nobody's sake but a smaller one's.
    static constexpr std::size_t small_bytes = 256U << 10U;

    // Whose claim it is: ends the request, and with it lowers the claim.
    class holder {
       public:
        virtual void end_for_memory() = 0;

       protected:
        ~holder() = default;
    };

    class claim {
       public:
        // `of` and `who` outlive it.
        claim(memory_account& of, const source& from, holder& who);
        ~claim();
        claim(const claim&) = delete;
        claim& operator=(const claim&) = delete;

        // To that many bytes in all. False when there is no room for them: nothing has changed then. Other requests,
        // also of the same connection, may have ended meanwhile.
        [[nodiscard]] bool raise(std::size_t bytes) { return raise(bytes, false); }
        // The same for what is about to be worked on: it is never the one to go, and pinned when there is room.
        [[nodiscard]] bool raise_for_work(std::size_t bytes);
        void lower(std::size_t bytes);
        // A pinned one is not ended: its memory is in use.
        void pin(bool on) { pinned_ = on; }
        [[nodiscard]] bool pinned() const { return pinned_; }
        [[nodiscard]] std::size_t bytes() const { return bytes_; }

       private:
        friend class memory_account;
        [[nodiscard]] bool raise(std::size_t bytes, bool for_work);

        memory_account& account_;
        source from_;
        holder& holder_;
        std::size_t place_;   // in the account's list
        std::uint64_t born_;  // a number that grows
        std::size_t bytes_ = 0;
        bool pinned_ = false;
        bool doomed_ = false;
    };

    explicit memory_account(std::size_t bytes_max) : bytes_max_(bytes_max) {}
    memory_account(const memory_account&) = delete;
    memory_account& operator=(const memory_account&) = delete;

    // The part of a process's memory that is meant for strangers' requests: a quarter, within bounds.
    [[nodiscard]] static std::size_t share_of(std::uint64_t process_bytes);

    [[nodiscard]] std::size_t held() const { return held_; }
    [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
    // What claims above small_bytes may take together.
    [[nodiscard]] std::size_t large_bytes_max() const { return bytes_max_ - bytes_max_ / 8; }
    // Requests that were ended or refused for want of memory.
    [[nodiscard]] std::uint64_t endings() const { return endings_; }

   private:
    struct demand {
        const claim* by;
        std::size_t wanted;   // by this claim in all
        std::size_t missing;  // more than there is
        bool may_go;          // the one that asks may itself be the one to go
    };
    [[nodiscard]] std::size_t most_for(std::size_t bytes) const {
        return bytes > small_bytes ? large_bytes_max() : bytes_max_;
    }
    [[nodiscard]] bool make_room(const claim& asking, std::size_t wanted, bool for_work);
    // The claims to end; none if the one that asks has to go.
    [[nodiscard]] std::vector<claim*> choose(const demand& what) const;

    std::size_t bytes_max_;
    std::size_t held_ = 0;
    std::uint64_t endings_ = 0;
    std::uint64_t born_ = 0;
    std::vector<claim*> claims_;
    std::vector<claim*> doomed_;  // while they are being ended; null once they are gone
};

}  // namespace cotrain::net
