// HTTP/1.1 over memory: requests in any pieces, what breaks the rules, how answers are framed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <string>

#include "net/http1/session.hpp"

namespace cotrain::net::http1 {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

constexpr std::string_view simple = "GET /healthz?x=1 HTTP/1.1\r\nHost: a:1\r\n\r\n";

class http1 : public testing::Test {
   protected:
    // Feeds all of it, as far as the session takes it; what is left is returned.
    std::string feed(std::string_view bytes) {
        pending_.append(bytes);
        for (std::size_t taken = 1; taken != 0 && !pending_.empty();) {
            taken = session_.feed(pending_);
            pending_.erase(0, taken);
        }
        return pending_;
    }
    std::string sent() {
        std::string out(session_.outgoing().view());
        session_.outgoing().clear();
        return out;
    }

    std::string pending_;
    session session_{limits{.header_bytes_max = 1024, .body_bytes_max = 100}};
};

TEST_F(http1, a_request_comes_out_whole_however_it_is_cut) {
    for (std::size_t cut = 1; cut < simple.size(); ++cut) {
        session one{limits{}};
        std::string pending;
        for (std::size_t at = 0; at < simple.size(); at += cut) {
            pending.append(simple.substr(at, cut));
            pending.erase(0, one.feed(pending));
        }
        const auto got = one.take();
        ASSERT_TRUE(got) << cut;
        EXPECT_EQ(got->head.method, "GET");
        EXPECT_EQ(got->head.path, "/healthz?x=1");
        EXPECT_EQ(got->head.authority, "a:1");
        EXPECT_EQ(got->body, "");
    }
}

TEST_F(http1, bodies_by_length_and_in_chunks) {
    feed("POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-Y: Z\r\n\r\nhello");
    auto got = session_.take();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->body, "hello");
    EXPECT_EQ(find_header(got->head.headers, "x-y"), "Z");
    session_.respond(200, {}, "");
    feed("POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    got = session_.take();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->body, "abcde");
}

TEST_F(http1, chunks_mean_the_same_however_they_are_cut) {
    const std::string input =
        "POST /b HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
        "003;a=\"x\r\nabc\r\n09 ; q=\"\\\"\"\r\n\r\n0123\"\r\n\r\n0;e\r\nTrailer: \"x\r\nT2: y\r\n\r\n";
    for (std::size_t cut = 1; cut <= input.size(); ++cut) {
        session one{limits{}};
        std::string pending;
        for (std::size_t at = 0; at < input.size(); at += cut) {
            pending.append(std::string_view(input).substr(at, cut));
            pending.erase(0, one.feed(pending));
        }
        const auto got = one.take();
        ASSERT_TRUE(got) << cut;
        EXPECT_EQ(got->body, "abc\r\n0123\"\r\n") << cut;
        EXPECT_EQ(pending, "") << cut;
    }
}

TEST_F(http1, what_stands_beside_the_chunks_is_bounded) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;" + std::string(1100, 'x'));
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 431 "));
    EXPECT_TRUE(session_.closing());
}

TEST_F(http1, small_chunks_do_not_add_up_to_too_much) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 100; ++i) feed("1;" + std::string(50, 'x') + "\r\ny\r\n");
    feed("0\r\n\r\n");
    EXPECT_EQ(session_.take()->body, std::string(100, 'y'));
}

TEST_F(http1, a_coding_we_do_not_know_is_refused) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n");
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 501 "));
    EXPECT_TRUE(session_.closing());
}

TEST_F(http1, a_header_that_goes_on_in_the_next_line_is_refused) {
    for (const std::string_view fold : {"\r\n ", "\r\n\t", "\r\n  \t"}) {
        const std::string text =
            "POST / HTTP/1.1\r\nHost: a\r\nX: 1" + std::string(fold) + "2\r\nContent-Length: 0\r\n\r\n";
        for (std::size_t cut = 1; cut <= text.size(); ++cut) {
            session one{limits{}};
            std::string pending;
            for (std::size_t at = 0; at < text.size(); at += cut) {
                pending.append(std::string_view(text).substr(at, cut));
                pending.erase(0, one.feed(pending));
            }
            EXPECT_FALSE(one.take()) << cut;
            EXPECT_THAT(std::string(one.outgoing().view()), StartsWith("HTTP/1.1 400 ")) << cut;
            EXPECT_TRUE(one.closing());
        }
    }
    // Blanks where they belong.
    feed("GET / HTTP/1.1\r\nHost: a \t\r\nX:\t 1 2\r\n\r\n");
    EXPECT_TRUE(session_.take());
}

// 0 under sanitizers, which bring their own heap.
std::size_t heap_bytes() {
    const auto now = ::mallinfo2();
    return now.uordblks + now.hblkhd;
}

TEST_F(http1, a_request_that_is_refused_keeps_no_memory) {
    session one{{.body_bytes_max = 8U << 20U}};
    const std::size_t before = heap_bytes();
    ASSERT_NE(one.feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n" + std::string(4'000'000, 'x')),
              0U);
    one.refuse(503, "no");
    EXPECT_LT(heap_bytes(), before + (1U << 20U));
}

TEST_F(http1, old_peers_know_no_transfer_coding) {
    feed("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 400 "));
    EXPECT_TRUE(session_.closing());
    EXPECT_FALSE(session_.take());
}

TEST_F(http1, the_next_request_waits_for_the_answer) {
    const std::string rest = feed(std::string(simple) + "GET /2 HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_THAT(rest, StartsWith("GET /2"));
    ASSERT_TRUE(session_.take());
    EXPECT_TRUE(session_.answering());
    session_.respond(200, {{"content-type", "text/plain"}}, "ok");
    EXPECT_EQ(sent(), "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 2\r\n\r\nok");
    feed("");
    EXPECT_EQ(session_.take()->head.path, "/2");
}

TEST_F(http1, answers_in_pieces_are_chunked) {
    feed(simple);
    ASSERT_TRUE(session_.take());
    session_.begin(200, {});
    session_.write("0123456789abcdefg");
    session_.write("");
    session_.finish({});
    EXPECT_EQ(sent(), "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n11\r\n0123456789abcdefg\r\n0\r\n\r\n");
    EXPECT_FALSE(session_.closing());
}

TEST_F(http1, http_1_0_reads_to_the_end_of_the_connection) {
    feed("GET / HTTP/1.0\r\n\r\n");
    ASSERT_TRUE(session_.take());
    session_.begin(200, {});
    session_.write("abc");
    session_.finish({});
    EXPECT_EQ(sent(), "HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nabc");
    EXPECT_TRUE(session_.closing());
}

TEST_F(http1, head_gets_no_body) {
    feed("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    ASSERT_TRUE(session_.take());
    session_.respond(200, {}, "four");
    EXPECT_EQ(sent(), "HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n");
}

TEST_F(http1, connection_close_is_honoured) {
    feed("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    ASSERT_TRUE(session_.take());
    session_.respond(204, {}, "");
    EXPECT_EQ(sent(), "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
    EXPECT_TRUE(session_.closing());
    EXPECT_EQ(session_.feed(simple), 0U);
}

TEST_F(http1, expect_100_is_answered_once_and_before_the_body) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(sent(), "HTTP/1.1 100 Continue\r\n\r\n");
    feed("ab");
    feed("cd");
    EXPECT_EQ(sent(), "");
    EXPECT_EQ(session_.take()->body, "abcd");
}

TEST_F(http1, a_body_that_is_too_large_is_refused_by_its_announcement) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 101\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 413 "));
    EXPECT_TRUE(session_.closing());
    EXPECT_FALSE(session_.take());
}

TEST_F(http1, a_chunked_body_that_grows_too_large_is_refused) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    for (int i = 0; i < 6; ++i) feed("14\r\n01234567890123456789\r\n");
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 413 "));
}

TEST_F(http1, headers_that_are_too_large_are_refused) {
    feed("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(1100, 'x'));
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 431 "));
    EXPECT_TRUE(session_.closing());
}

TEST(http1_refusals, what_breaks_the_rules_is_answered_and_ends) {
    for (const char* wrong :
         {"nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
          "GET / HTTP/1.1\r\nHost: a\r\nBad Header: x\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\nab\r\n0\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n0\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: \n\r\n\r\n",
          "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1000000000000000\r\n"}) {
        session one{limits{}};
        std::string pending = wrong;
        for (std::size_t taken = 1; taken != 0 && !pending.empty();) {
            taken = one.feed(pending);
            pending.erase(0, taken);
        }
        EXPECT_FALSE(one.take()) << wrong;
        EXPECT_THAT(std::string(one.outgoing().view()), StartsWith("HTTP/1.1 4")) << wrong;
        EXPECT_THAT(std::string(one.outgoing().view()), HasSubstr("connection: close\r\n")) << wrong;
        EXPECT_TRUE(one.closing()) << wrong;
    }
}

TEST_F(http1, other_versions_are_refused) {
    feed("GET / HTTP/3.0\r\nHost: a\r\n\r\n");
    EXPECT_THAT(sent(), StartsWith("HTTP/1.1 505 "));
}

TEST_F(http1, an_absolute_target_is_read_as_its_path) {
    feed("GET http://b/c?d HTTP/1.1\r\nHost: a\r\n\r\n");
    EXPECT_EQ(session_.take()->head.path, "/c?d");
}

TEST_F(http1, a_header_of_ours_cannot_smuggle_another_one) {
    feed(simple);
    ASSERT_TRUE(session_.take());
    session_.respond(200, {{"x", "a\r\nset-cookie: b"}, {"content-length", "7"}}, "1");
    const std::string out = sent();
    EXPECT_THAT(out, HasSubstr("x: a  set-cookie: b\r\n"));
    EXPECT_THAT(out, HasSubstr("content-length: 1\r\n"));
    EXPECT_THAT(out, Not(HasSubstr("content-length: 7")));
}

TEST_F(http1, shutdown_answers_what_is_arriving_and_says_close) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na");
    session_.shutdown();
    EXPECT_FALSE(session_.closing());
    feed("b");
    ASSERT_TRUE(session_.take());
    session_.respond(200, {}, "x");
    EXPECT_THAT(sent(), EndsWith("connection: close\r\n\r\nx"));
    EXPECT_TRUE(session_.closing());
}

TEST_F(http1, shutdown_of_an_idle_connection_closes_it) {
    session_.shutdown();
    EXPECT_TRUE(session_.closing());
    EXPECT_EQ(session_.outgoing().size(), 0U);
}

TEST_F(http1, an_unfinished_request_is_forgotten_at_the_end_of_input) {
    feed("GET / HT");
    EXPECT_TRUE(session_.receiving());
    session_.end_of_input();
    EXPECT_TRUE(session_.closing());
    EXPECT_EQ(session_.outgoing().size(), 0U);
}

TEST_F(http1, a_request_can_be_refused_before_it_is_whole) {
    feed("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab");
    EXPECT_EQ(session_.body_bytes(), 2U);
    session_.refuse(408, "the request took too long");
    EXPECT_THAT(sent(), EndsWith("the request took too long\n"));
    EXPECT_TRUE(session_.closing());
}

}  // namespace
}  // namespace cotrain::net::http1
