// The part of a stored object that only unfinished ones keep: spec, conditions and counts in one block of memory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "watch/kinds.hpp"
#include "watch/text_table.hpp"

namespace cotrain::watch {

// Times are seconds since 1970 in 32 bits, which last until 2106; 0 is "not set".
struct stored_condition {
    text_id type = no_text;
    text_id reason = no_text;
    std::uint32_t message_at = 0;  // within the body's texts
    std::uint32_t message_bytes = 0;
    std::uint32_t last_transition = 0;
    truth status = truth::unknown;
};

struct stored_counts {
    text_id name = no_text;
    std::int32_t ready = 0;
    std::int32_t succeeded = 0;
    std::int32_t failed = 0;
    std::int32_t active = 0;
    std::int32_t suspended = 0;
};

// A spec above this is not kept, only its print: whoever needs it asks the API server. Tenants decide how large theirs
// are.
inline constexpr std::size_t spec_kept_bytes_max = 16UL << 10U;

// What the decoder found of one object, on its way into the store. Views only have to live through the call.
struct projection {
    std::string_view ns{};
    std::string_view name{};
    std::string_view uid{};
    std::string_view resource_version{};
    std::string_view creation_time{};
    std::string_view owner_ns{};    // of the controlling owner: the object's own namespace
    std::string_view owner_name{};  // empty: nobody of interest controls it
    std::string_view owner_uid{};
    std::string_view group{};           // TrainJob: its runtime, as runtime_key() writes it
    std::string_view spec{};            // kept as it is
    std::string_view extra{};           // likewise: what else of metadata the kind needs
    std::string_view managed_by{};      // TrainJob
    std::string_view terminal_state{};  // JobSet
    std::string_view snapshot_hash{};   // TrainJob: of the runtime snapshot that was recorded for it
    const status_lists* status = nullptr;
    std::int64_t generation = 0;
    std::int64_t deadline_seconds = 0;
    std::int64_t ttl_seconds = -1;
    bool suspend = false;
    bool deleting = false;
    bool complete = false;  // terminal conditions, by the kind's own names
    bool failed = false;
    std::string_view finished_time{};  // when one of them became true
    bool past_deadline = false;        // it failed because of its deadline
    bool troubled = false;             // it says that its resources are not ready
    bool elsewhere = false;            // another controller manages it
    bool held_back = false;            // a runtime with the finalizer of earlier operators
    bool collapse = false;             // keep no body
    bool spec_left_out = false;        // keep neither spec nor extra, they are too large
};

// One allocation: this, conditions, counts, texts.
class object_body {
   public:
    struct release {
        void operator()(object_body* body) const;
    };
    using pointer = std::unique_ptr<object_body, release>;

    // Takes uses of texts, which drop() gives back before the body goes.
    [[nodiscard]] static pointer make(text_table& texts, const projection& p);
    void drop(text_table& texts) const;

    [[nodiscard]] std::span<const stored_condition> conditions() const;
    [[nodiscard]] std::span<const stored_counts> counts() const;
    [[nodiscard]] std::string_view message(const stored_condition& c) const;
    [[nodiscard]] std::string_view spec() const;
    [[nodiscard]] std::string_view extra() const;
    [[nodiscard]] std::string_view snapshot_hash() const;
    [[nodiscard]] std::size_t bytes() const;

    std::uint64_t spec_print = 0;
    std::uint64_t status_print = 0;
    std::uint64_t counts_print = 0;
    std::int64_t generation = 0;
    std::int64_t deadline_seconds = 0;
    std::int64_t ttl_seconds = -1;
    text_id terminal_state = no_text;
    bool spec_left_out = false;

   private:
    object_body() = default;
    [[nodiscard]] const char* tail() const { return reinterpret_cast<const char*>(this + 1); }
    [[nodiscard]] const char* text() const;

    std::uint32_t spec_bytes_ = 0;
    std::uint32_t extra_bytes_ = 0;
    std::uint32_t message_bytes_ = 0;
    std::uint32_t hash_bytes_ = 0;
    std::uint16_t conditions_ = 0;
    std::uint16_t counts_ = 0;
};

// Seconds since 1970 of "2026-05-04T10:11:12Z"; 0 if the text is no time in that form.
[[nodiscard]] std::uint32_t time_seconds(std::string_view text);

// What tells whether an object changed in a way that matters.
struct prints {
    std::uint64_t spec = 0;    // spec, extra, suspension, deletion, owner, group …
    std::uint64_t status = 0;  // conditions and counts
    std::uint64_t counts = 0;  // counts alone: comparable between a TrainJob and its JobSet
};
[[nodiscard]] prints prints_of(const projection& p);

}  // namespace cotrain::watch
