// How a host name is put together, and how much room all of them take.
#include "runtime/endpoints.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

namespace cotrain::runtime {
namespace {

__extension__ typedef unsigned __int128 wide;  // products of two counts and a length

constexpr std::array<std::uint64_t, 11> powers = [] {
    std::array<std::uint64_t, 11> all{1};
    for (std::size_t i = 1; i < all.size(); ++i) all[i] = all[i - 1] * 10;
    return all;
}();

std::uint32_t digits_of(std::uint64_t number) {
    std::uint32_t digits = 1;
    while (digits < powers.size() && number >= powers[digits]) ++digits;
    return digits;
}

// Digits of all the numbers below `count` together.
std::uint64_t digits_below(std::uint64_t count) {
    std::uint64_t sum = count;  // every number has a first digit
    for (std::size_t i = 1; i < powers.size() && count > powers[i]; ++i) sum += count - powers[i];
    return sum;
}

char* put(char* out, std::string_view text) { return std::ranges::copy(text, out).out; }

char* put(char* out, std::uint32_t number) {
    return std::to_chars(out, out + std::numeric_limits<std::uint32_t>::digits10 + 1, number).ptr;
}

char* put_short(char* out, const host_name& host) {
    out = put(out, host.trainjob);
    *out++ = '-';
    out = put(out, host.job);
    *out++ = '-';
    out = put(out, host.replica);
    *out++ = '-';
    return put(out, host.pod);
}

// Bytes of a name but for its numbers.
std::size_t fixed_bytes(const host_name& host) {
    return host.trainjob.size() + host.job.size() + host.subdomain.size() + std::string_view("---.").size();
}

}  // namespace

char* host_name::write(char* out) const {
    out = put_short(out, *this);
    *out++ = '.';
    return put(out, subdomain);
}

std::string host_name::text() const {
    std::string out;
    out.resize_and_overwrite(fixed_bytes(*this) + digits_of(replica) + digits_of(pod),
                             [&](char* data, std::size_t) { return static_cast<std::size_t>(write(data) - data); });
    return out;
}

std::string host_name::short_text() const {
    std::string out = text();
    out.resize(out.size() - subdomain.size() - 1);
    return out;
}

host_name endpoints::operator[](std::uint64_t index) const {
    host_name found = first_;
    found.replica = static_cast<std::uint32_t>(index / pods_);
    found.pod = static_cast<std::uint32_t>(index % pods_);
    return found;
}

std::uint64_t endpoints::bytes(std::size_t suffix_bytes) const {
    const wide fixed = fixed_bytes(first_) + suffix_bytes;
    const wide sum = size() * fixed + wide{pods_} * digits_below(replicas_) + wide{replicas_} * digits_below(pods_);
    return sum > std::numeric_limits<std::uint64_t>::max() ? std::numeric_limits<std::uint64_t>::max()
                                                           : static_cast<std::uint64_t>(sum);
}

std::uint64_t endpoints::fitting(std::uint64_t bytes_max, std::size_t suffix_bytes) const {
    const wide fixed = fixed_bytes(first_) + suffix_bytes;
    const auto first = [&](std::uint64_t count) {  // bytes of the first `count` lines
        const std::uint64_t full = count / pods_;
        const std::uint64_t rest = count % pods_;
        return count * fixed + wide{pods_} * digits_below(full) + wide{full} * digits_below(pods_) +
               wide{rest} * digits_of(full) + digits_below(rest);
    };
    std::uint64_t low = 0;
    std::uint64_t high = size();
    while (low < high) {
        const std::uint64_t middle = low + (high - low + 1) / 2;
        if (first(middle) <= bytes_max) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

bool endpoints::append_lines(std::string& out, std::string_view suffix, std::size_t bytes_max) const {
    const std::uint64_t added = bytes(suffix.size());
    if (added > bytes_max) return false;
    const std::size_t before = out.size();
    const std::size_t total = before + added;
    out.reserve(total);
    out.resize_and_overwrite(total, [&](char* data, std::size_t) {
        char* end = data + before;
        for (const host_name host : *this) end = put(host.write(end), suffix);
        return static_cast<std::size_t>(end - data);
    });
    return true;
}

}  // namespace cotrain::runtime
