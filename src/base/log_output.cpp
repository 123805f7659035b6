// Two tables: causes, whose lines are told apart, and messages, which bound how many causes are worth a line.
#include "base/log_output.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/json_text.hpp"
#include "base/log.hpp"

namespace cotrain::base {

namespace {

constexpr std::string_view line_end = "}\n";
constexpr std::string_view text_begin = R"("level":)";
constexpr std::string_view message_begin = R"("msg":")";
constexpr std::string_view run_begin = R"(,"reconcileID":")";  // quotes within strings are escaped

// Level and message of what format_line() made of them and of fields.
std::string_view message_of(std::string_view text) {
    auto at = text.find(message_begin);
    if (at == std::string_view::npos) return text;
    for (at += message_begin.size(); at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
    return text.substr(0, at + 1);
}

// What lines that are alike have in common: all but the run of the reconciler that wrote them.
std::string without_run(std::string_view text) {
    std::string out(text);
    const auto begin = out.find(run_begin);
    if (begin == std::string::npos) return out;
    const auto end = out.find('"', begin + run_begin.size());
    return out.erase(begin, end + 1 - begin);
}

std::string with_count(std::string_view line, std::uint64_t suppressed) {
    std::string out(line);
    out += R"(,"suppressed":)";
    append_json_number(out, static_cast<std::int64_t>(suppressed));
    return out.append(line_end);
}

std::string time_now() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    std::string line =
        format_line(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), level::info, "", {});
    line.resize(line.find(text_begin));
    return line;
}

}  // namespace

// Null: the table is full of entries that still count.
log_limiter::entry* log_limiter::find_or_add(table& in, std::string_view text, std::size_t entries_max,
                                             clock::time_point now) {
    if (const auto known = in.find(text); known != in.end()) return &known->second;
    if (in.size() >= entries_max) std::erase_if(in, [now](const auto& each) { return each.second.done(now); });
    if (in.size() >= entries_max) return nullptr;
    return &in.emplace(std::string(text), entry{.begun = now}).first->second;
}

std::optional<std::uint64_t> log_limiter::admit(std::string_view message, std::string_view cause,
                                                clock::time_point now) {
    if (const auto known = causes_.find(cause); known != causes_.end() && !known->second.over(now)) {
        ++known->second.suppressed;
        return std::nullopt;
    }
    entry* const all = find_or_add(messages_, message, messages_max, now);
    if (all != nullptr) {
        if (all->over(now)) *all = {.begun = now, .suppressed = all->suppressed};
        if (all->written == lines_of_message_max) {
            ++all->suppressed;
            return std::nullopt;
        }
        ++all->written;
    }
    entry* const one = find_or_add(causes_, cause, causes_max, now);
    if (one == nullptr) return 0;
    one->begun = now;
    return std::exchange(one->suppressed, 0);
}

std::vector<log_limiter::suppressed> log_limiter::take(clock::time_point now, bool everything) {
    std::vector<suppressed> out;
    for (table* const in : {&causes_, &messages_}) {
        for (auto& [text, one] : *in) {
            if (one.suppressed == 0 || (!everything && !one.over(now))) continue;
            out.push_back({text, std::exchange(one.suppressed, 0)});
            one.begun = now;
            one.written = 0;
        }
        std::erase_if(*in, [now](const auto& each) { return each.second.done(now); });
    }
    return out;
}

void limited_lines::write(void* self, std::string_view line) {
    limited_lines& to = *static_cast<limited_lines*>(self);
    const auto begin = line.find(text_begin);
    if (begin == std::string_view::npos || !line.ends_with(line_end)) return to.out_(to.context_, line);
    line.remove_suffix(line_end.size());
    const std::string_view text = line.substr(begin);
    const std::string_view message = message_of(text);
    const std::string alike = without_run(text);
    const std::string_view cause = alike.size() <= cause_bytes_max ? std::string_view(alike) : message;
    const auto admitted = to.limit_.admit(message, cause, log_limiter::clock::now());
    if (!admitted) return;
    to.out_(to.context_, *admitted == 0 ? std::string(line).append(line_end) : with_count(line, *admitted));
}

void limited_lines::write_suppressed(bool everything) {
    for (const log_limiter::suppressed& each : limit_.take(log_limiter::clock::now(), everything))
        out_(context_, with_count(time_now() + each.text, each.lines));
}

namespace {

// A pipe or socket that poll() calls writable takes so many bytes at once (pipe(7): a free buffer is a page).
constexpr std::size_t piece_bytes_max = 4096;

bool has_room(int descriptor) {
    pollfd at{.fd = descriptor, .events = POLLOUT, .revents = 0};
    return ::poll(&at, 1, 0) == 1 && (at.revents & POLLOUT) != 0;
}

std::string notice(std::uint64_t lines) {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return format_line(std::chrono::duration_cast<std::chrono::milliseconds>(now).count(), level::warn,
                       "log lines dropped, nobody reads standard error fast enough",
                       {{"lines", static_cast<std::int64_t>(lines)}});
}

}  // namespace

void line_output::write(std::string_view line) {
    if (!flush() || !tell_lost() || !begin(line)) ++lost_;
}

// Whether there is room for more behind it.
bool line_output::tell_lost() {
    if (lost_ == 0) return true;
    if (!begin(notice(lost_))) return false;
    lost_ = 0;
    return pending_.empty();
}

bool line_output::begin(std::string_view line) {
    pending_ = line;
    if (flush() || pending_.size() < line.size()) return true;
    pending_.clear();
    return false;
}

bool line_output::flush() {
    std::size_t done = 0;
    while (done < pending_.size() && has_room(descriptor_)) {
        const std::size_t piece = std::min(pending_.size() - done, piece_bytes_max);
        const ssize_t n = ::write(descriptor_, pending_.data() + done, piece);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        done += static_cast<std::size_t>(n);
    }
    pending_.erase(0, done);
    return pending_.empty();
}

}  // namespace cotrain::base
