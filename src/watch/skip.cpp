// Blocks of 64 bytes as bit masks: quotes, backslashes and brackets, then arithmetic on the masks.
#include "watch/skip.hpp"

#include <bit>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#define COTRAIN_X86 1
#endif

namespace cotrain::watch {

namespace {

// One bit per byte of a block, the first byte lowest.
struct masks {
    std::uint64_t quote;
    std::uint64_t backslash;
    std::uint64_t open;   // { and [
    std::uint64_t close;  // } and ]
    std::uint64_t curly;  // of these the curly ones; other bits mean nothing
};

constexpr std::ptrdiff_t block = 64;

[[gnu::always_inline]] inline std::uint64_t prefix_xor(std::uint64_t bits) {
    bits ^= bits << 1U;
    bits ^= bits << 2U;
    bits ^= bits << 4U;
    bits ^= bits << 8U;
    bits ^= bits << 16U;
    bits ^= bits << 32U;
    return bits;
}

// Bytes behind an odd number of backslashes. `carry`: whether the block before ended in such a number. Adding the
// starts of runs to the runs makes a carry ripple to each run's end; starts of even and odd place are added apart, so
// that the end's place tells the length. Only ends are marked: what a run does to itself changes no quote.
[[gnu::always_inline]] inline std::uint64_t escaped(std::uint64_t backslash, std::uint64_t& carry) {
    constexpr std::uint64_t even = 0x5555555555555555ULL;
    const std::uint64_t first = carry;
    carry = 0;
    const std::uint64_t runs = backslash & ~first;
    if (runs == 0) return first;
    const std::uint64_t starts = runs & ~(runs << 1U);
    const std::uint64_t from_even = runs + (starts & even);
    const std::uint64_t from_odd = runs + (starts & ~even);
    carry = from_odd < runs ? 1 : 0;
    return (((from_even & ~even) | (from_odd & even)) & ~runs) | first;
}

struct portable {
    [[gnu::always_inline]] static masks load(const char* p) {
        masks m{};
        for (unsigned i = 0; i < block; ++i) {
            const auto bit = std::uint64_t{1} << i;
            switch (p[i]) {
                case '"': m.quote |= bit; break;
                case '\\': m.backslash |= bit; break;
                case '{':
                    m.open |= bit;
                    m.curly |= bit;
                    break;
                case '[': m.open |= bit; break;
                case '}':
                    m.close |= bit;
                    m.curly |= bit;
                    break;
                case ']': m.close |= bit; break;
                default: break;
            }
        }
        return m;
    }
};

#ifdef COTRAIN_X86

// '{' and '}' have the bit 0x20, '[' and ']' do not: two places below a byte's highest.
constexpr int curly_shift = 2;

struct sse2 {
    [[gnu::always_inline]] static std::uint64_t high_bits(const __m128i (&v)[4]) {
        std::uint64_t bits = 0;
        for (unsigned i = 0; i < 4; ++i)
            bits |= std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(v[i]))} << (16 * i);
        return bits;
    }
    [[gnu::always_inline]] static std::uint64_t equal(const __m128i (&v)[4], char c) {
        const __m128i wanted = _mm_set1_epi8(c);
        __m128i same[4];
        for (unsigned i = 0; i < 4; ++i) same[i] = _mm_cmpeq_epi8(v[i], wanted);
        return high_bits(same);
    }
    [[gnu::always_inline]] static masks load(const char* p) {
        __m128i v[4];
        __m128i folded[4];
        for (unsigned i = 0; i < 4; ++i) {
            v[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p) + i);
            folded[i] = _mm_or_si128(v[i], _mm_set1_epi8(0x20));  // '[' → '{', ']' → '}'
        }
        masks m{};
        m.quote = equal(v, '"');
        m.backslash = equal(v, '\\');
        m.open = equal(folded, '{');
        m.close = equal(folded, '}');
        for (unsigned i = 0; i < 4; ++i) v[i] = _mm_slli_epi16(v[i], curly_shift);
        m.curly = high_bits(v);
        return m;
    }
};

struct avx2 {
    [[gnu::target("avx2"), gnu::always_inline]] static inline std::uint64_t high_bits(__m256i a, __m256i b) {
        const auto low = static_cast<std::uint32_t>(_mm256_movemask_epi8(a));
        const auto high = static_cast<std::uint32_t>(_mm256_movemask_epi8(b));
        return std::uint64_t{low} | (std::uint64_t{high} << 32U);
    }
    [[gnu::target("avx2"), gnu::always_inline]] static inline std::uint64_t equal(__m256i a, __m256i b, char c) {
        const __m256i wanted = _mm256_set1_epi8(c);
        return high_bits(_mm256_cmpeq_epi8(a, wanted), _mm256_cmpeq_epi8(b, wanted));
    }
    [[gnu::target("avx2"), gnu::always_inline]] static inline masks load(const char* p) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p) + 1);
        const __m256i fold = _mm256_set1_epi8(0x20);
        const __m256i fa = _mm256_or_si256(a, fold);
        const __m256i fb = _mm256_or_si256(b, fold);
        masks m{};
        m.quote = equal(a, b, '"');
        m.backslash = equal(a, b, '\\');
        m.open = equal(fa, fb, '{');
        m.close = equal(fa, fb, '}');
        const __m256i ca = _mm256_slli_epi16(a, curly_shift);
        const __m256i cb = _mm256_slli_epi16(b, curly_shift);
        m.curly = high_bits(ca, cb);
        return m;
    }
};

#endif

// The bit of the nth close, counted from 1; there have to be so many.
template <bool fast>
[[gnu::always_inline]] inline std::uint64_t nth_close(std::uint64_t close, std::int64_t n) {
#ifdef COTRAIN_X86
    if constexpr (fast) {
        std::uint64_t bit = 0;
        // The intrinsic wants its caller to be compiled for BMI2, which inlining into one does not tell it.
        asm("pdep %2, %1, %0" : "=r"(bit) : "r"(std::uint64_t{1} << static_cast<unsigned>(n - 1)), "r"(close));
        return bit;
    }
#endif
    for (; n > 1; --n) close &= close - 1;
    return close & -close;
}

// Where the outermost container closes in this block, as a bit index; 64 if it does not. With n closes seen and o
// opens before the nth, depth is zero there if n = depth + o; else it cannot be before the (depth + o)th.
template <bool fast>
[[gnu::always_inline]] inline unsigned find_close(std::uint64_t open, std::uint64_t close, std::int64_t closed,
                                                  std::int64_t depth) {
    std::int64_t n = depth;
    while (n <= closed) {
        const std::uint64_t bit = nth_close<fast>(close, n);
        const std::int64_t wanted = depth + std::popcount(open & (bit - 1));
        if (wanted == n) return static_cast<unsigned>(std::countr_zero(bit));
        n = wanted;
    }
    return 64;
}

struct state {
    std::int64_t depth = 1;
    std::int64_t curly = 0;  // open braces inside
    std::uint64_t in_string = 0;
    std::uint64_t carry = 0;
};

[[gnu::always_inline]] inline std::uint64_t real_quotes(const masks& m, state& s) {
    return m.quote & ~escaped(m.backslash, s.carry);
}

// `inside`: bytes between quotes, as if the block began outside a string. Returns the bit index of the closing
// bracket, or 64; braces at and above it do not count.
template <bool fast>
[[gnu::always_inline]] inline unsigned step(const masks& m, std::uint64_t inside, state& s) {
    inside ^= s.in_string;
    s.in_string = static_cast<std::uint64_t>(static_cast<std::int64_t>(inside) >> 63);
    const std::uint64_t open = m.open & ~inside;
    const std::uint64_t close = m.close & ~inside;
    const std::int64_t closed = std::popcount(close);
    if (closed >= s.depth) {
        if (const unsigned at = find_close<fast>(open, close, closed, s.depth); at != 64) {
            const std::uint64_t below = (std::uint64_t{1} << at) - 1;
            s.curly += std::popcount(open & m.curly & below) - std::popcount(close & m.curly & below);
            return at;
        }
    }
    s.depth += std::int64_t{std::popcount(open)} - closed;
    s.curly += std::int64_t{std::popcount(open & m.curly)} - std::int64_t{std::popcount(close & m.curly)};
    return 64;
}

[[gnu::always_inline]] inline skip_result finish(const char* at, char close, const state& s) {
    // Balanced braces inside leave balanced square brackets, because the sum is balanced.
    if (*at != close || s.curly != 0) return {at, skip_fault::mismatched, false};
    return {at + 1, skip_fault::none, false};
}

// The last bytes, in a block that zeros fill up, which mean nothing.
struct last_block {
    char bytes[block] = {};

    last_block(const char* p, const char* end) {
        if (p != end) std::memcpy(bytes, p, static_cast<std::size_t>(end - p));
    }
};

template <class Level>
skip_result skip_blocks(const char* p, const char* end, char close) {
    state s;
    const auto look = [&s](const char* at) {
        const masks m = Level::load(at);
        return step<false>(m, prefix_xor(real_quotes(m, s)), s);
    };
    for (; end - p >= block; p += block)
        if (const unsigned at = look(p); at != 64) return finish(p + at, close, s);
    const last_block rest(p, end);
    if (const unsigned at = look(rest.bytes); at != 64) return finish(p + at, close, s);
    return {end, skip_fault::unterminated, false};
}

#ifdef COTRAIN_X86

#define COTRAIN_AVX2 gnu::target("avx2,pclmul,popcnt,bmi,bmi2,lzcnt")

// The same once more: what the attribute allows does not reach into a template's instances.
[[COTRAIN_AVX2, gnu::always_inline]] inline unsigned look_avx2(const char* p, state& s) {
    const masks m = avx2::load(p);
    const auto quotes = static_cast<std::int64_t>(real_quotes(m, s));
    // A carry-less product with all ones is the running exclusive or.
    const __m128i ones = _mm_set1_epi8(static_cast<char>(0xFF));
    const __m128i inside = _mm_clmulepi64_si128(_mm_set_epi64x(0, quotes), ones, 0);
    return step<true>(m, static_cast<std::uint64_t>(_mm_cvtsi128_si64(inside)), s);
}

[[COTRAIN_AVX2]] skip_result skip_avx2(const char* p, const char* end, char close) {
    state s;
    for (; end - p >= block; p += block)
        if (const unsigned at = look_avx2(p, s); at != 64) return finish(p + at, close, s);
    const last_block rest(p, end);
    if (const unsigned at = look_avx2(rest.bytes, s); at != 64) return finish(p + at, close, s);
    return {end, skip_fault::unterminated, false};
}

#endif

}  // namespace

skip_level skip_level_best() {
#ifdef COTRAIN_X86
    static const bool wide = __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("pclmul") != 0 &&
                             __builtin_cpu_supports("bmi2") != 0 && __builtin_cpu_supports("popcnt") != 0;
    return wide ? skip_level::avx2 : skip_level::sse2;
#else
    return skip_level::portable;
#endif
}

skip_result skip_container_at(skip_level level, const char* p, const char* end, char close) {
#ifdef COTRAIN_X86
    if (level == skip_level::avx2) return skip_avx2(p, end, close);
    if (level == skip_level::sse2) return skip_blocks<sse2>(p, end, close);
#endif
    (void)level;
    return skip_blocks<portable>(p, end, close);
}

skip_result skip_container(const char* p, const char* end, char close) {
    static const skip_level level = skip_level_best();
    return skip_container_at(level, p, end, close);
}

skip_result skip_string(const char* p, const char* end) {
    bool escapes = false;
    for (;;) {
        while (end - p >= 16) {
            const char* const stop = skip_plain(p);
            const bool found = stop != p + 16;
            p = stop;
            if (found) break;
        }
        while (p != end && *p != '"' && *p != '\\') ++p;
        if (p == end) return {end, skip_fault::unterminated, escapes};
        if (*p == '"') return {p + 1, skip_fault::none, escapes};
        escapes = true;
        if (end - p < 2) return {end, skip_fault::unterminated, escapes};
        p += 2;
    }
}

}  // namespace cotrain::watch
