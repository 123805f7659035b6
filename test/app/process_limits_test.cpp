// How descriptors are divided among servers.
#include "app/operator/process.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

namespace cotrain::app {
namespace {

TEST(process_limits, servers_leave_a_quarter_of_the_descriptors) {
    for (const std::size_t descriptors : {64U, 256U, 1000U, 1024U, 65'536U, 1'048'576U}) {
        const connection_shares shares = share_connections(descriptors);
        EXPECT_LE(shares.reviews + shares.reports + shares.metrics + shares.health, descriptors * 3 / 4) << descriptors;
        EXPECT_GE(shares.health, 4U) << descriptors;
    }
    EXPECT_EQ(share_connections(1024).reviews, 512U);
    EXPECT_EQ(share_connections(1'048'576).reviews, 512U) << "idle ones take memory, too";
}

TEST(process_limits, descriptors_are_raised_to_the_hard_limit) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    rlimit low = before;
    low.rlim_cur = 256;
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    EXPECT_EQ(descriptors_max(), 256U);
    raise_descriptor_limit();
    EXPECT_EQ(descriptors_max(), static_cast<std::size_t>(before.rlim_max));
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace cotrain::app
