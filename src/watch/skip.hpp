// Jumps over JSON values at several bytes a cycle: finds where a string or a container ends.
#pragma once

#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#else
#include <algorithm>
#endif

namespace cotrain::watch {

// Why a jump ended elsewhere; the place is where it was noticed.
enum class skip_fault : std::uint8_t { none, unterminated, mismatched };

struct skip_result {
    const char* end = nullptr;  // behind the value
    skip_fault fault = skip_fault::none;
    bool escapes = false;  // of a string: it has a backslash
};

// `p` is behind the opening quote. Control bytes inside are not looked for: the API server writes none.
[[nodiscard]] skip_result skip_string(const char* p, const char* end);

// The first quote or backslash in the 16 bytes from `p` on, all of which can be read; p + 16 if there is none.
[[nodiscard]] inline const char* skip_plain(const char* p) {
#if defined(__SSE2__)
    const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(v, _mm_set1_epi8('"')), _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
    return p + __builtin_ctz(static_cast<unsigned>(_mm_movemask_epi8(hit)) | 1U << 16U);
#else
    return std::find_if(p, p + 16, [](char c) { return c == '"' || c == '\\'; });
#endif
}

// `p` is behind the opening bracket of a container that `close` ends ('}' or ']'). Counts brackets outside strings:
// braces and square brackets have to balance each, what stands between them is not checked.
[[nodiscard]] skip_result skip_container(const char* p, const char* end, char close);

// The implementations, for tests and benches; the calls above choose by what the processor has.
enum class skip_level : std::uint8_t { portable, sse2, avx2 };
[[nodiscard]] skip_level skip_level_best();
[[nodiscard]] skip_result skip_container_at(skip_level level, const char* p, const char* end, char close);

}  // namespace cotrain::watch
