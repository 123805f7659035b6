// Search for line breaks; memory is used only for lines that span chunks.
#include "kube/lines.hpp"

#include <cstring>

namespace cotrain::kube {

namespace {

constexpr std::size_t carry_retained_bytes = 64 * 1024;

std::string_view without_return(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
}

}  // namespace

base::result<std::optional<std::string_view>> line_splitter::next() {
    if (carry_done_) {
        carry_done_ = false;
        if (carry_.capacity() > carry_retained_bytes) carry_ = std::string();
        carry_.clear();
    }
    while (!rest_.empty()) {
        const void* found = std::memchr(rest_.data(), '\n', rest_.size());
        const std::size_t end =
            found == nullptr ? rest_.size() : static_cast<std::size_t>(static_cast<const char*>(found) - rest_.data());
        if (carry_.size() + end > line_bytes_max_)
            return base::fail(base::errc::too_large,
                              "a line is longer than " + std::to_string(line_bytes_max_) + " bytes");
        const std::string_view piece = rest_.substr(0, end);
        rest_.remove_prefix(found == nullptr ? end : end + 1);
        if (found == nullptr) {
            carry_.append(piece);
            break;
        }
        if (carry_.empty()) {
            if (const std::string_view line = without_return(piece); !line.empty()) return line;
            continue;
        }
        carry_.append(piece);
        carry_done_ = true;
        if (const std::string_view line = without_return(carry_); !line.empty()) return line;
        carry_done_ = false;
        carry_.clear();
    }
    return std::nullopt;
}

}  // namespace cotrain::kube
