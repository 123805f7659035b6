// Memory that grows only and is given back all at once: where document trees live.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace cotrain::doc {

// What an arena may hold before it counts as exceeded.
inline constexpr std::size_t arena_bytes_max = 256UL * 1024 * 1024;
// The same for what one plan or one compiled runtime takes: ten times the largest object that etcd stores.
inline constexpr std::size_t plan_bytes_max = 16UL * 1024 * 1024;

// Chunks double from the first size up to a ceiling. Allocation does not fail because of `bytes_max`: code that reads,
// merges or copies asks exceeded() at every container and stops; the caller asks again and refuses the result.
// Neither copied nor moved: trees remember the arena that may still change them.
class arena {
   public:
    static constexpr std::size_t first_chunk_bytes = 8UL * 1024;
    static constexpr std::size_t chunk_bytes_max = 256UL * 1024;

    explicit arena(std::size_t bytes_max = arena_bytes_max) : bytes_max_(bytes_max) {}
    ~arena();
    arena(const arena&) = delete;
    arena& operator=(const arena&) = delete;

    // Memory aligned for pointers, never null.
    [[nodiscard]] void* allocate(std::size_t bytes) {
        bytes = (bytes + alignment - 1) & ~(alignment - 1);
        if (bytes > static_cast<std::size_t>(end_ - next_)) return allocate_slowly(bytes);
        void* const block = next_;
        next_ += bytes;
        return block;
    }
    // Bytes of text, without alignment.
    [[nodiscard]] char* allocate_text(std::size_t bytes) {
        if (bytes > static_cast<std::size_t>(end_ - next_)) return static_cast<char*>(allocate_slowly(bytes));
        char* const block = next_;
        next_ += bytes;
        realign();
        return block;
    }
    [[nodiscard]] std::string_view copy(std::string_view text);

    // Whether `p` points into this arena.
    [[nodiscard]] bool holds(const void* p) const;

    // Forgets everything; keeps the first chunk, so that a reused arena does not allocate.
    void clear();

    [[nodiscard]] std::size_t bytes_used() const { return full_bytes_ + static_cast<std::size_t>(next_ - begin_); }
    [[nodiscard]] std::size_t bytes_reserved() const { return reserved_bytes_; }
    [[nodiscard]] std::size_t bytes_max() const { return bytes_max_; }
    [[nodiscard]] bool exceeded() const { return exhausted_ || reserved_bytes_ > bytes_max_; }
    // To be called when something is left out because it would not fit: the arena counts as exceeded until it is
    // cleared.
    void exhaust() { exhausted_ = true; }

   private:
    static constexpr std::size_t alignment = alignof(void*);
    struct chunk;

    void* allocate_slowly(std::size_t bytes);
    void realign() {
        const auto odd = reinterpret_cast<std::uintptr_t>(next_) & (alignment - 1);
        if (odd != 0) next_ += alignment - odd;  // chunks end aligned, so this stays inside
    }

    char* begin_ = nullptr;
    char* next_ = nullptr;
    char* end_ = nullptr;
    chunk* last_ = nullptr;
    std::size_t full_bytes_ = 0;  // used in the chunks before the last
    std::size_t reserved_bytes_ = 0;
    std::size_t bytes_max_;
    bool exhausted_ = false;
};

}  // namespace cotrain::doc
