// What a parser may cost for each byte of its input: memory and time. An input that costs more ends the fuzz target.
//
//     within_budget("JSON", input.size(), [&] { arena memory; (void)parse_json(memory, input); });
//
// Memory is the peak of live heap bytes, as AddressSanitizer's hooks count them. Time is CPU time, so that a busy
// machine does not matter, scaled by what the sanitizers cost, which a reference run measures; an input that seems slow
// is run again, and its quickest run counts. The measured code must therefore be repeatable.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

extern "C" {
int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*, std::size_t),
                                              void (*on_free)(const volatile void*));
std::size_t __sanitizer_get_allocated_size(const volatile void* block);
}

namespace cotrain::fuzz {

struct budget {
    std::size_t memory_base = 1U << 20U;
    std::size_t memory_per_byte = 64;
    std::chrono::nanoseconds time_base = std::chrono::milliseconds(1);
    std::chrono::nanoseconds time_per_byte = std::chrono::microseconds(1);
};

struct cost {
    std::size_t peak = 0;
    std::chrono::nanoseconds time{0};
};

// Runs that an input gets to be quick enough.
inline constexpr int tries = 5;

class heap_meter {
   public:
    static heap_meter& get() {
        static heap_meter one;
        return one;
    }
    void begin() {
        live_ = peak_ = 0;
        counting_ = true;
    }
    std::size_t end() {
        counting_ = false;
        return static_cast<std::size_t>(peak_);
    }

   private:
    heap_meter() {
        // libFuzzer takes a place as well; there are five.
        if (__sanitizer_install_malloc_and_free_hooks(&allocated, &freed) == 0) {
            std::fprintf(stderr, "budget: no hooks of the sanitizer's heap: memory cannot be measured\n");
            std::abort();
        }
    }
    static void allocated(const volatile void*, std::size_t bytes) {
        if (!counting_) return;
        live_ += static_cast<std::int64_t>(bytes);
        peak_ = std::max(peak_, live_);
    }
    static void freed(const volatile void* block) {
        if (counting_ && block != nullptr) live_ -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(block));
    }

    // Of this thread: libFuzzer has others.
    static inline thread_local bool counting_ = false;
    static inline thread_local std::int64_t live_ = 0;
    static inline thread_local std::int64_t peak_ = 0;
};

inline std::chrono::nanoseconds cpu_time() {
    std::timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

// How much slower than a release build on an ordinary machine this program runs: a scan that branches at each byte and
// allocates now and then, as parsers do. Never below 1.
inline double slowness() {
    static const double factor = [] {
        constexpr std::size_t bytes = 1U << 18U;
        constexpr double release_nanoseconds = 2.0 * bytes;  // measured at -O2 without sanitizers
        std::string text(bytes, 'x');
        for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + i * 2654435761U % 26);
        auto least = std::chrono::nanoseconds::max();
        for (int i = 0; i < tries; ++i) {
            const auto begun = cpu_time();
            std::vector<std::string> words;
            std::string word;
            for (const char c : text) {
                if (c != 'e') {
                    word += c;
                    continue;
                }
                words.push_back(word);
                word.clear();
            }
            least = std::min(least, cpu_time() - begun);
            if (words.empty()) std::abort();
        }
        return std::max(1.0, static_cast<double>(least.count()) / release_nanoseconds);
    }();
    return factor;
}

template <class Run>
cost measure(const Run& run) {
    heap_meter& heap = heap_meter::get();
    const auto begun = cpu_time();
    heap.begin();
    run();
    const std::size_t peak = heap.end();
    return {.peak = peak, .time = cpu_time() - begun};
}

// Ends the program, which libFuzzer takes for a finding, when `run` needs more for that many bytes.
template <class Run>
void within_budget(std::string_view what, std::size_t bytes, const Run& run, budget most = {}) {
    const std::size_t memory_max = most.memory_base + most.memory_per_byte * bytes;
    const double time_max = slowness() * static_cast<double>((most.time_base + most.time_per_byte * bytes).count());
    cost least = measure(run);
    for (int i = 1; i<tries&& static_cast<double>(least.time.count())> time_max; ++i)
        least.time = std::min(least.time, measure(run).time);
    const bool too_slow = static_cast<double>(least.time.count()) > time_max;
    if (least.peak <= memory_max && !too_slow) return;
    std::fprintf(stderr, "budget: %.*s of %zu bytes: %zu bytes of heap (at most %zu), %.3f ms (at most %.3f ms)\n",
                 static_cast<int>(what.size()), what.data(), bytes, least.peak, memory_max,
                 static_cast<double>(least.time.count()) / 1e6, time_max / 1e6);
    std::abort();
}

// A longer text of the same shape: `length` bytes of it from `from` many times over. What costs more than its length
// shows only in long inputs, which a fuzzer seldom makes.
inline std::string pumped(std::string_view text, std::size_t from, std::size_t length) {
    constexpr std::size_t bytes_max = 64U << 10U;
    std::string out(text.substr(0, from));
    const std::string_view part = text.substr(from, length);
    while (out.size() + part.size() < bytes_max) out += part;
    return out.append(text.substr(from + length));
}

// Where the `items`-th item after the separator at `from` ends; npos if there are not so many.
inline std::size_t items_end(std::string_view text, std::size_t from, std::uint64_t items) {
    std::size_t at = from;
    for (; items > 0 && at != std::string_view::npos; --items) at = text.find(text[from], at + 1);
    return at;
}

inline constexpr std::string_view separators = ",\n";
inline constexpr std::uint64_t items_max = 3;  // that are repeated together

// Runs of a few items at many places of the text, evenly spread.
template <class Check>
void at_all_separators(std::string_view text, const Check& check) {
    constexpr std::size_t places_max = 24;
    std::vector<std::size_t> places;
    for (std::size_t at = text.find_first_of(separators); at != text.npos; at = text.find_first_of(separators, at + 1))
        places.push_back(at);
    const std::size_t step = places.size() / places_max + 1;
    for (std::size_t i = 0; i < places.size(); i += step)
        for (std::uint64_t items = 1; items <= items_max; ++items)
            if (const std::size_t end = items_end(text, places[i], items); end != text.npos)
                check(pumped(text, places[i], end - places[i]));
}

// The text itself, and sometimes a longer one, which its own bytes choose.
template <class Check>
void at_two_sizes(std::string_view text, const Check& check) {
    constexpr std::uint64_t one_in = 4;
    constexpr std::size_t pumped_from_max = 8192;
    check(text);
    if (text.empty() || text.size() > pumped_from_max) return;
    // For seeds.
    static const bool thorough = std::getenv("COTRAIN_FUZZ_THOROUGH") != nullptr;
    if (thorough) return at_all_separators(text, check);
    std::uint64_t sum = 14695981039346656037U;
    for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 1099511628211U;
    sum ^= sum >> 29U;
    if (sum % one_in != 0) return;
    const std::size_t at = (sum >> 8U) % text.size();
    const std::size_t from = text.find_first_of(separators, at);
    const std::size_t end = from == std::string_view::npos ? from : items_end(text, from, 1 + (sum >> 32U) % items_max);
    const std::size_t some = 1 + (sum >> 24U) % std::min<std::size_t>(text.size() - at, 32);
    check(end == std::string_view::npos ? pumped(text, at, some) : pumped(text, from, end - from));
}

}  // namespace cotrain::fuzz
