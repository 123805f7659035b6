// The programs' operator new: blocks stay apart, come back from other threads, and are not hoarded.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <thread>
#include <vector>

namespace {

struct held {
    unsigned char* at;
    std::size_t bytes;
    unsigned char mark;
};

bool intact(const held& h) {
    return std::all_of(h.at, h.at + h.bytes, [&](unsigned char c) { return c == h.mark; });
}

// Takes and gives at random, the sizes' edges included; returns what it still holds.
std::vector<held> churn(unsigned seed, bool& good) {
    std::mt19937 random(seed);
    std::vector<held> all;
    for (unsigned i = 0; i < 20'000; ++i) {
        if (all.size() < 300 && random() % 2 == 0) {
            const std::size_t edge = std::size_t{16} << random() % 10;
            const std::size_t bytes = random() % 2 == 0 ? edge + random() % 3 - 1 : random() % 5000;
            auto* const at = static_cast<unsigned char*>(::operator new(bytes));
            good = good && reinterpret_cast<std::uintptr_t>(at) % alignof(std::max_align_t) == 0;
            all.push_back({at, bytes, static_cast<unsigned char>(i)});
            std::memset(at, all.back().mark, bytes);
        } else if (!all.empty()) {
            std::swap(all[random() % all.size()], all.back());
            good = good && intact(all.back());
            if (random() % 2 == 0)
                ::operator delete(all.back().at);
            else
                ::operator delete(all.back().at, all.back().bytes);
            all.pop_back();
        }
    }
    return all;
}

TEST(pooled_new, keeps_blocks_apart) {
    bool good = true;
    for (const held& h : churn(1, good)) {
        good = good && intact(h);
        ::operator delete(h.at, h.bytes);
    }
    EXPECT_TRUE(good);
}

TEST(pooled_new, takes_blocks_that_another_thread_made) {
    bool good = true;
    std::vector<held> theirs;
    std::thread([&] { theirs = churn(2, good); }).join();
    for (const held& h : theirs) {
        good = good && intact(h);
        ::operator delete(h.at);
    }
    EXPECT_FALSE(theirs.empty());
    EXPECT_TRUE(good);
}

TEST(pooled_new, does_not_hoard) {
    const std::size_t before = mallinfo2().uordblks;
    {
        std::vector<std::unique_ptr<char[]>> wave(20'000);
        for (std::size_t i = 0; i < wave.size(); ++i) wave[i] = std::make_unique<char[]>(1 + i % 4096);
    }
    EXPECT_LE(mallinfo2().uordblks, before + 600'000);
}

TEST(pooled_new, gives_back_what_an_ended_thread_kept) {
    const auto wave = [] {
        std::vector<std::unique_ptr<char[]>> blocks(100);
        for (auto& block : blocks) block = std::make_unique<char[]>(2049);
    };
    std::thread(wave).join();
    const std::size_t before = mallinfo2().uordblks;
    for (int i = 0; i < 50; ++i) std::thread(wave).join();
    EXPECT_LE(mallinfo2().uordblks, before + 100'000);
}

}  // namespace
