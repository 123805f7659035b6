// A small seeded random source that is passed as an argument, so that tests can repeat it.
#pragma once

#include <cstdint>

namespace cotrain::base {

class random_source {
   public:
    explicit constexpr random_source(std::uint64_t seed) : state_(seed) {}
    // Seeded by the system.
    [[nodiscard]] static random_source from_system();

    // splitmix64: full period, good enough for jitter and identifiers, not for keys.
    constexpr std::uint64_t next() {
        std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
        z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
        z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
        return z ^ (z >> 31U);
    }
    // Uniform in [0, 1).
    constexpr double unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

   private:
    std::uint64_t state_;
};

}  // namespace cotrain::base
