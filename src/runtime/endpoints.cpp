// Renders a block of lines once and then only patches the digits that change: about a nanosecond a line.
#include "runtime/endpoints.hpp"

#include <algorithm>
#include <array>
#include <cstring>
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

void put_number(char* out, std::uint64_t number, std::uint32_t digits) {
    for (; digits > 0; --digits) {
        out[digits - 1] = static_cast<char>('0' + number % 10);
        number /= 10;
    }
}

}  // namespace

endpoints::endpoints(std::string_view trainjob, std::string_view job, std::string_view subdomain,
                     std::uint32_t replicas, std::uint32_t pods)
    : replicas_(replicas), pods_(pods) {
    prefix_.reserve(trainjob.size() + job.size() + 2);
    prefix_.append(trainjob).append("-").append(job).append("-");
    domain_.reserve(subdomain.size() + 1);
    domain_.append(".").append(subdomain);
}

std::string endpoints::at(std::uint64_t index) const {
    if (index >= size()) return {};
    const std::uint64_t replica = index / pods_;
    const std::uint64_t pod = index % pods_;
    return prefix_ + std::to_string(replica) + "-" + std::to_string(pod) + domain_;
}

std::uint64_t endpoints::bytes(std::size_t suffix_bytes) const {
    const wide fixed = prefix_.size() + 1 + domain_.size() + suffix_bytes;
    const wide sum = size() * fixed + wide{pods_} * digits_below(replicas_) + wide{replicas_} * digits_below(pods_);
    return sum > std::numeric_limits<std::uint64_t>::max() ? std::numeric_limits<std::uint64_t>::max()
                                                           : static_cast<std::uint64_t>(sum);
}

std::uint64_t endpoints::fitting(std::uint64_t bytes_max, std::size_t suffix_bytes) const {
    const wide fixed = prefix_.size() + 1 + domain_.size() + suffix_bytes;
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
    out.resize_and_overwrite(total, [&](char* data, std::size_t size) {
        return static_cast<std::size_t>(blocks(suffix).drain(data + before, data + size) - data);
    });
    return true;
}

endpoints::line_blocks endpoints::blocks(std::string_view suffix) const { return {*this, suffix}; }

endpoints::line_blocks::line_blocks(const endpoints& hosts, std::string_view suffix) : hosts_(&hosts), suffix_(suffix) {
    if (hosts.empty()) return;
    begin_width();
    render();
}

// Prepares the lines of all pods of this replica whose numbers have as many digits as pod_.
void endpoints::line_blocks::begin_width() {
    width_ = digits_of(pod_);
    std::string line = hosts_->prefix_;
    line.append(std::to_string(replica_)).append("-");
    digits_at_ = line.size();
    line.append(width_, '0').append(hosts_->domain_).append(suffix_);
    line_bytes_ = line.size();

    const std::uint32_t first = width_ == 2 ? 10 : 0;  // the low two digits of the first line
    const std::uint64_t last = std::min<std::uint64_t>(width_ == 1 ? 10 : 100, width_ > 2 ? 100 : hosts_->pods_);
    template_.clear();
    for (std::uint64_t low = first; low < last; ++low) {
        template_.append(line);
        char* const digits = template_.data() + template_.size() - line_bytes_ + digits_at_;
        put_number(digits + width_ - std::min(width_, 2U), low, std::min(width_, 2U));
    }
}

// Lines of the block that starts at pod_, whose low digits the template has already.
char* endpoints::line_blocks::write(char* out, std::uint32_t lines) const {
    std::memcpy(out, template_.data(), lines * line_bytes_);
    char* const end = out + lines * line_bytes_;
    if (width_ <= 2) return end;

    const std::uint32_t high_digits = width_ - 2;  // at most 8: counts have 32 bits
    std::array<char, 8> high{};
    const std::size_t patched_end = digits_at_ + high_digits;
    if (patched_end < sizeof(std::uint64_t)) {
        put_number(high.data(), pod_ / block_lines, high_digits);
        for (char* line = out; line != end; line += line_bytes_) {
            std::memcpy(line + digits_at_, high.data(), high_digits);
        }
        return end;
    }
    // One store a line: the eight bytes that end with the high digits are the same in all of them.
    put_number(out + digits_at_, pod_ / block_lines, high_digits);
    std::uint64_t word = 0;
    std::memcpy(&word, out + patched_end - sizeof word, sizeof word);
    for (char* line = out; line != end; line += line_bytes_) {
        std::memcpy(line + patched_end - sizeof word, &word, sizeof word);
    }
    return end;
}

namespace {

// Lines from `pod` to the end of its block: of its hundred, of its number of digits, of the pods.
std::uint32_t lines_from(std::uint32_t pod, std::uint32_t pods, std::uint32_t width) {
    const std::uint64_t end = width == 1 ? 10 : (std::uint64_t{pod} / 100 + 1) * 100;
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(end, pods) - pod);
}

}  // namespace

void endpoints::line_blocks::render() {
    const std::uint32_t lines = lines_from(pod_, hosts_->pods_, width_);
    buffer_.resize(std::max(buffer_.size(), lines * line_bytes_));
    write(buffer_.data(), lines);
    text_ = std::string_view{buffer_}.substr(0, lines * line_bytes_);
}

void endpoints::line_blocks::next() {
    if (done()) return;
    pod_ += lines_from(pod_, hosts_->pods_, width_);
    if (pod_ >= hosts_->pods_) {
        pod_ = 0;
        if (++replica_ >= hosts_->replicas_) {
            text_ = {};
            return;
        }
        begin_width();
    } else if (digits_of(pod_) != width_) {
        begin_width();
    }
    render();
}

char* endpoints::line_blocks::drain(char* out, const char* end) {
    while (!done()) {
        const std::uint32_t lines = lines_from(pod_, hosts_->pods_, width_);
        if (lines * line_bytes_ > static_cast<std::size_t>(end - out)) break;
        out = write(out, lines);
        pod_ += lines;
        if (pod_ >= hosts_->pods_) {
            pod_ = 0;
            if (++replica_ >= hosts_->replicas_) text_ = {};
            if (!done()) begin_width();
        } else if (digits_of(pod_) != width_) {
            begin_width();
        }
    }
    return out;
}

}  // namespace cotrain::runtime
