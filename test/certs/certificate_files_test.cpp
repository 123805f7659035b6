// External certificates: taken when they are there, replaced when they change, kept when they are damaged.
#include "certs/files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <string>

#include "support/certificates.hpp"
#include "support/run.hpp"
#include "support/temp_dir.hpp"

namespace cotrain::certs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class certificate_files_ : public testing::Test {
   protected:
    void put(const std::string& name, const std::string& text) const { place_.write(name, text); }
    void put(const test::certificate& c) const {
        put("tls.crt", c.certificate_pem);
        put("tls.key", c.key_pem);
    }

    test::temp_dir place_;
    std::string directory_ = place_.path();
    asio::io_context loop_{1};
    served_certificate serving_{{}};
};

TEST_F(certificate_files_, they_are_read_when_they_come_and_when_they_change) {
    certificate_files files(loop_.get_executor(), serving_, directory_, base::null_logger());
    EXPECT_THAT(files.look().error().message, StartsWith("cannot read " + directory_ + "/tls.crt: "));
    const test::authority ca;
    put(ca.issue({.common_name = "one", .names = {"one"}}));
    ASSERT_TRUE(files.look());
    const auto first = serving_.context();
    EXPECT_TRUE(first);
    EXPECT_EQ(files.authority(), "");
    put("ca.crt", ca.pem());
    ASSERT_TRUE(files.look());
    EXPECT_EQ(serving_.context(), first);
    EXPECT_EQ(files.authority(), ca.pem());
    put(ca.issue({.common_name = "two", .names = {"two"}}));
    ASSERT_TRUE(files.look());
    EXPECT_NE(serving_.context(), first);
}

TEST_F(certificate_files_, half_a_change_leaves_what_is_served) {
    certificate_files files(loop_.get_executor(), serving_, directory_, base::null_logger());
    const test::authority ca;
    put(ca.issue({.common_name = "one", .names = {"one"}}));
    ASSERT_TRUE(files.look());
    const auto before = serving_.context();
    const test::certificate next = ca.issue({.common_name = "two", .names = {"two"}});
    put("tls.crt", next.certificate_pem);
    const auto half = files.look();
    ASSERT_FALSE(half);
    EXPECT_THAT(half.error().message, StartsWith(directory_ + ": serving certificate: "));
    EXPECT_EQ(serving_.context(), before);
    put("tls.key", next.key_pem);
    EXPECT_TRUE(files.look());
    EXPECT_NE(serving_.context(), before);
}

awaitable<void> wait_for(served_certificate* serving) {
    asio::steady_timer timer(co_await asio::this_coro::executor);
    while (!serving->ready()) {
        timer.expires_after(std::chrono::milliseconds(1));
        co_await timer.async_wait(asio::use_awaitable);
    }
}

awaitable<void> follow(certificate_files* files, served_certificate* serving) {
    files->start();
    co_await wait_for(serving);
    co_await files->stop();
}

TEST_F(certificate_files_, somebody_looks_again_and_again) {
    certificate_files files(loop_.get_executor(), serving_, directory_, base::null_logger(),
                            std::chrono::milliseconds(1));
    EXPECT_FALSE(files.look());
    put(test::self_signed({.common_name = "one", .names = {"one"}}));
    test::run(loop_, follow(&files, &serving_));
    EXPECT_TRUE(serving_.ready());
}

}  // namespace
}  // namespace cotrain::certs
