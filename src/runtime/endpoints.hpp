// The host names of a job's pods as a lazy range: no list of names ever exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <string>
#include <string_view>

namespace cotrain::runtime {

// Where one pod is reached. This is the only place that knows how such names are put together.
struct host_name {
    std::string_view trainjob;
    std::string_view job;
    std::string_view subdomain;
    std::uint32_t replica = 0;
    std::uint32_t pod = 0;

    // "trainjob-job-replica-pod.subdomain"
    [[nodiscard]] std::string text() const;
    // The same without the subdomain: what `hostname` says inside of the pod.
    [[nodiscard]] std::string short_text() const;
    // Writes text(); returns where it ends. There must be room for it.
    char* write(char* out) const;
};

// `for (auto host : hosts)`: the names of all pods of all replicas, replicas outermost. Counts go up to 2³¹−1 each.
// The texts are borrowed: they must outlive the range and its names.
class endpoints : public std::ranges::view_interface<endpoints> {
   public:
    class iterator;

    endpoints() = default;
    endpoints(std::string_view trainjob, std::string_view job, std::string_view subdomain, std::uint32_t replicas,
              std::uint32_t pods)
        : first_{trainjob, job, subdomain}, replicas_(pods == 0 ? 0 : replicas), pods_(pods) {}

    [[nodiscard]] iterator begin() const;
    [[nodiscard]] iterator end() const;
    [[nodiscard]] std::uint64_t size() const { return std::uint64_t{replicas_} * pods_; }
    // The name at that place, which must be below size().
    [[nodiscard]] host_name operator[](std::uint64_t index) const;

    // Bytes of all names when each is followed by `suffix_bytes` more; the largest number if they are beyond counting.
    [[nodiscard]] std::uint64_t bytes(std::size_t suffix_bytes) const;
    // Of all names, each with its suffix, how many fit into that many bytes (counted from the first).
    [[nodiscard]] std::uint64_t fitting(std::uint64_t bytes_max, std::size_t suffix_bytes) const;
    // Appends every name followed by `suffix`, with one allocation of the exact size. False, and nothing is appended,
    // if that is more than `bytes_max`.
    [[nodiscard]] bool append_lines(std::string& out, std::string_view suffix, std::size_t bytes_max) const;

   private:
    host_name first_;
    std::uint32_t replicas_ = 0;
    std::uint32_t pods_ = 0;
};

class endpoints::iterator {
   public:
    using value_type = host_name;
    using difference_type = std::int64_t;

    iterator() = default;
    iterator(const host_name& at, std::uint32_t pods) : at_(at), pods_(pods) {}

    [[nodiscard]] host_name operator*() const { return at_; }
    iterator& operator++() {
        if (++at_.pod == pods_) {
            at_.pod = 0;
            ++at_.replica;
        }
        return *this;
    }
    iterator operator++(int) {
        const iterator before = *this;
        ++*this;
        return before;
    }
    // Of two places in the same range.
    [[nodiscard]] bool operator==(const iterator& other) const {
        return at_.pod == other.at_.pod && at_.replica == other.at_.replica;
    }

   private:
    host_name at_;
    std::uint32_t pods_ = 0;
};

inline endpoints::iterator endpoints::begin() const { return {first_, pods_}; }
inline endpoints::iterator endpoints::end() const {
    host_name beyond = first_;
    beyond.replica = replicas_;
    return {beyond, pods_};
}

}  // namespace cotrain::runtime

template <>
inline constexpr bool std::ranges::enable_borrowed_range<cotrain::runtime::endpoints> = true;
