// Proxy URLs, NO_PROXY and the answers of proxies, without a socket.
#include "net/tcp/proxy.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cotrain::net::tcp {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(tcp_proxy_url, is_read_as_go_reads_it) {
    const struct {
        const char* url;
        const char* host;
        int port;
        const char* authorization;
    } table[] = {
        {"http://proxy.test:3128", "proxy.test", 3128, ""},
        {"http://proxy.test", "proxy.test", 80, ""},
        {"HTTP://proxy.test:8080/", "proxy.test", 8080, ""},
        {"proxy.test:3128", "proxy.test", 3128, ""},
        {"proxy.test", "proxy.test", 80, ""},
        {"http://10.0.0.1:1/path?x#y", "10.0.0.1", 1, ""},
        {"http://[fd00::1]:3128", "fd00::1", 3128, ""},
        {"http://[::1]", "::1", 80, ""},
        {"http://user:pass@proxy.test:3128", "proxy.test", 3128, "Basic dXNlcjpwYXNz"},
        {"http://user@proxy.test", "proxy.test", 80, "Basic dXNlcjo="},
        {"http://us%40er:p%3A%2fss@proxy.test", "proxy.test", 80, "Basic dXNAZXI6cDovc3M="},
        {"http://a:b@c@proxy.test:3128", "proxy.test", 3128, "Basic YTpiQGM="},
        {"http://proxy.test:", "proxy.test", 80, ""},
    };
    for (const auto& row : table) {
        const auto parsed = parse_proxy(row.url);
        ASSERT_TRUE(parsed) << row.url << ": " << parsed.error().message;
        EXPECT_EQ(parsed->where.host, row.host) << row.url;
        EXPECT_EQ(parsed->where.port, row.port) << row.url;
        EXPECT_EQ(parsed->authorization, row.authorization) << row.url;
        EXPECT_FALSE(parsed->over_tls);
    }
}

TEST(tcp_proxy_url, what_is_wrong_is_said_without_the_password) {
    const struct {
        std::string url;
        const char* message;
    } table[] = {
        {"https://u:secret@proxy.test", "proxy URL: https:// proxies are not supported"},
        {"socks5://u:secret@proxy.test", "proxy URL: SOCKS proxies are not supported"},
        {"ftp://u:secret@proxy.test", "proxy URL: its scheme is not http://"},
        {"", "proxy URL: the host is missing"},
        {"http://u:secret@", "proxy URL: the host is missing"},
        {"http://u:secret@:3128", "proxy URL: the host is missing"},
        {"http://u:secret@pro xy", "proxy URL: the host is no name or address"},
        {"http://u:secret@pro\r\nxy", "proxy URL: the host is no name or address"},
        {"http://u:secret@[::1", "proxy URL: '[' without ']'"},
        {"http://u:secret@p:0", "proxy URL: the port is no number from 1 to 65535"},
        {"http://u:secret@p:65536", "proxy URL: the port is no number from 1 to 65535"},
        {"http://u:secret@p:80x", "proxy URL: the port is no number from 1 to 65535"},
        {"http://u:secret@[::1]80", "proxy URL: the port is no number from 1 to 65535"},
        {"http://u:secret%4@p", "proxy URL: user or password has a '%' without two hexadecimal digits"},
        {"http://u:secret%zz@p", "proxy URL: user or password has a '%' without two hexadecimal digits"},
        {"http://" + std::string(5000, 'x'), "proxy URL: it is too long"},
        {"http://u:secret" + std::string(2000, 'x') + "@p", "proxy URL: user and password are too long"},
        {"http://" + std::string(256, 'x'), "proxy URL: the host is no name or address"},
    };
    for (const auto& row : table) {
        const auto parsed = parse_proxy(row.url);
        ASSERT_FALSE(parsed) << row.url;
        EXPECT_EQ(parsed.error().code, base::errc::invalid);
        EXPECT_THAT(parsed.error().message, StartsWith(row.message));
        EXPECT_THAT(parsed.error().message, Not(HasSubstr("secret")));
    }
}

TEST(tcp_proxy_choice, no_proxy_has_gos_rules) {
    const struct {
        const char* no_proxy;
        const char* host;
        std::uint16_t port;
        bool direct;
    } table[] = {
        {"", "api.test", 443, false},
        {"", "localhost", 443, true},
        {"", "127.0.0.1", 443, true},
        {"", "127.8.9.10", 443, true},
        {"", "::1", 443, true},
        {"", "::ffff:127.0.0.1", 443, true},
        {"", "localhost.test", 443, false},
        {"*", "api.test", 443, true},
        {"*", "10.0.0.1", 443, true},
        {"x.test, *", "10.0.0.1", 443, true},
        // A name covers itself and what is below it.
        {"api.test", "api.test", 443, true},
        {"api.test", "API.test", 443, true},
        {"API.TEST", "api.test", 443, true},
        {"api.test", "v1.api.test", 443, true},
        {"api.test", "myapi.test", 443, false},
        {"api.test", "test", 443, false},
        {"api.test", "api.test.", 443, false},
        // With a dot or "*." only what is below it.
        {".api.test", "api.test", 443, false},
        {".api.test", "v1.api.test", 443, true},
        {"*.api.test", "api.test", 443, false},
        {"*.api.test", "a.b.api.test", 443, true},
        // Ports.
        {"api.test:443", "api.test", 443, true},
        {"api.test:443", "api.test", 6443, false},
        {".api.test:6443", "v1.api.test", 6443, true},
        {"10.0.0.1:443", "10.0.0.1", 443, true},
        {"10.0.0.1:443", "10.0.0.1", 444, false},
        {"[fd00::1]:443", "fd00::1", 443, true},
        {"[fd00::1]:443", "fd00::1", 444, false},
        {":443", "api.test", 443, false},
        // Addresses and ranges.
        {"10.0.0.1", "10.0.0.1", 443, true},
        {"10.0.0.1", "10.0.0.10", 443, false},
        {"10.0.0.1", "::ffff:10.0.0.1", 443, true},
        {"fd00::1", "fd00:0::1", 443, true},
        {"[fd00::1]", "fd00::1", 443, true},
        {"10.96.0.0/12", "10.96.0.1", 443, true},
        {"10.96.0.0/12", "10.111.255.255", 443, true},
        {"10.96.0.0/12", "10.112.0.0", 443, false},
        {"10.96.0.77/12", "10.97.0.1", 443, true},
        {"0.0.0.0/0", "8.8.8.8", 443, true},
        {"0.0.0.0/0", "fd00::1", 443, false},
        {"fd00::/8", "fdff::1", 443, true},
        {"fd00::/8", "fe00::1", 443, false},
        {"fd00::/129", "fd00::1", 443, false},
        {"10.0.0.0/33", "10.0.0.1", 443, false},
        {"10.0.0.0/", "10.0.0.1", 443, false},
        {"10.0.0.0/8", "ten.test", 443, false},
        // A name never matches an address, nor the other way round.
        {"0.1", "10.0.0.1", 443, false},
        {".1", "10.0.0.1", 443, false},
        // Lists, with blanks and empty entries.
        {"a.test, b.test ,,\tc.test", "b.test", 443, true},
        {"a.test, b.test ,,\tc.test", "c.test", 443, true},
        {"a.test, b.test ,,\tc.test", "d.test", 443, false},
        {"a.test b.test", "b.test", 443, false},
        {",", "a.test", 443, false},
        {"[", "a.test", 443, false},
        {"[]", "a.test", 443, false},
        {"[]:1", "a.test", 1, false},
        {":", "a.test", 443, false},
    };
    for (const auto& row : table)
        EXPECT_EQ(goes_direct(row.host, row.port, row.no_proxy), row.direct)
            << "'" << row.no_proxy << "' " << row.host << ":" << row.port;
}

TEST(tcp_proxy_choice, a_proxy_is_chosen_unless_the_peer_goes_direct) {
    const auto none = proxy_for("api.test", 443, "", "");
    ASSERT_TRUE(none);
    EXPECT_FALSE(*none);
    const auto direct = proxy_for("api.test", 443, "http://proxy.test:3128", "api.test");
    ASSERT_TRUE(direct);
    EXPECT_FALSE(*direct);
    const auto chosen = proxy_for("api.test", 443, "http://proxy.test:3128", "other.test");
    ASSERT_TRUE(chosen);
    ASSERT_TRUE(*chosen);
    EXPECT_EQ((*chosen)->where.host, "proxy.test");
    const auto bad = proxy_for("api.test", 443, "socks5://proxy.test", "other.test");
    ASSERT_FALSE(bad);
    EXPECT_THAT(bad.error().message, StartsWith("HTTPS_PROXY: proxy URL: SOCKS"));
}

TEST(tcp_proxy_request, names_the_peer_and_the_user) {
    EXPECT_EQ(connect_request({"api.test", 6443}, {}), "CONNECT api.test:6443 HTTP/1.1\r\nHost: api.test:6443\r\n\r\n");
    proxy via;
    via.authorization = "Basic eDp5";
    EXPECT_EQ(connect_request({"fd00::1", 443}, via),
              "CONNECT [fd00::1]:443 HTTP/1.1\r\nHost: [fd00::1]:443\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
}

struct outcome {
    bool complete = false;
    std::size_t used = 0;
    base::error error;
};

outcome answer(std::string_view bytes, std::size_t piece_bytes) {
    connect_answer reader;
    outcome all;
    while (!bytes.empty() && !reader.complete()) {
        const std::string piece(bytes.substr(0, piece_bytes));
        const auto used = reader.feed(piece);
        if (!used) {
            all.error = used.error();
            return all;
        }
        EXPECT_TRUE(*used == piece.size() || reader.complete());
        all.used += *used;
        bytes.remove_prefix(*used);
    }
    all.complete = reader.complete();
    return all;
}

TEST(tcp_proxy_answer, success_ends_with_the_head_however_it_is_cut) {
    const struct {
        std::string head;
        std::string behind;
    } table[] = {
        {"HTTP/1.1 200 Connection established\r\n\r\n", ""},
        {"HTTP/1.0 200 OK\r\nVia: x\r\nContent-Length: 5\r\n\r\n", "\x16\x03\x03"},
        {"HTTP/1.1 200\r\n\r\n", "\r\n\r\n"},
        {"HTTP/1.1 204 \n\n", "x"},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\na: b\r\n\r\n", "tail"},
    };
    for (const auto& row : table) {
        for (std::size_t piece = 1; piece <= row.head.size() + row.behind.size(); ++piece) {
            const outcome got = answer(row.head + row.behind, piece);
            EXPECT_TRUE(got.complete) << row.head << piece << got.error.message;
            EXPECT_EQ(got.used, row.head.size()) << row.head << piece;
        }
        EXPECT_FALSE(answer(row.head.substr(0, row.head.size() - 1), 1).complete) << row.head;
    }
}

TEST(tcp_proxy_answer, refusals_say_why_and_whether_to_try_again) {
    const struct {
        const char* head;
        base::errc code;
        base::retry again;
        const char* message;
    } table[] = {
        {"HTTP/1.1 407 Proxy Authentication Required\r\n", base::errc::auth, base::retry::never,
         "it wants user and password (http://user:password@host:port) or refuses those it was given: "
         "407 Proxy Authentication Required"},
        {"HTTP/1.1 403 Forbidden by rule\r\n", base::errc::connect, base::retry::never,
         "it refuses: 403 Forbidden by rule"},
        {"HTTP/1.1 302 Found\r\n", base::errc::connect, base::retry::never, "it refuses: 302 Found"},
        {"HTTP/1.1 503\r\n", base::errc::connect, base::retry::later, "it refuses: 503"},
        {"SSH-2.0-OpenSSH\r\n", base::errc::protocol, base::retry::never,
         "it does not answer in HTTP/1 but with 'SSH-2.0-OpenSSH  '"},
        {"HTTP/2 200\r\n", base::errc::protocol, base::retry::never,
         "it does not answer in HTTP/1 but with 'HTTP/2 200  '"},
        {"\r\n", base::errc::protocol, base::retry::never, "it does not answer in HTTP/1 but with '  '"},
        {"HTTP/1.1\r\n", base::errc::protocol, base::retry::never, "it answered 'HTTP/1.1'"},
        {"HTTP/1.1 OK\r\n", base::errc::protocol, base::retry::never, "it answered 'HTTP/1.1 OK'"},
        {"HTTP/1.1 2000\r\n", base::errc::protocol, base::retry::never, "it answered 'HTTP/1.1 2000'"},
        {"HTTP/1.1 -20 x\r\n", base::errc::protocol, base::retry::never, "it answered 'HTTP/1.1 -20 x'"},
        {"HTTP/1.1 099 x\r\n", base::errc::protocol, base::retry::never, "it answered 'HTTP/1.1 099 x'"},
    };
    for (const auto& row : table) {
        const outcome got = answer(row.head, 4096);
        EXPECT_EQ(got.error.message, row.message);
        EXPECT_EQ(got.error.code, row.code) << row.head;
        EXPECT_EQ(got.error.again, row.again) << row.head;
        EXPECT_FALSE(answer(row.head, 1).error.message.empty()) << row.head;
    }
}

TEST(tcp_proxy_answer, the_head_is_bounded) {
    const std::string status = "HTTP/1.1 200 OK\r\n";
    const std::string end = "\r\n\r\n";
    const std::string fill(connect_answer::head_bytes_max - status.size() - end.size(), 'h');
    EXPECT_TRUE(answer(status + fill + end, 1000).complete);
    const outcome too_large = answer(status + fill + "h" + end, 1000);
    EXPECT_EQ(too_large.error.code, base::errc::too_large);
    EXPECT_EQ(too_large.error.message, "its answer has more than 8 KiB of headers");
    std::string endless;
    while (endless.size() < 20'000) endless += "HTTP/1.1 100 Continue\r\n\r\n";
    EXPECT_EQ(answer(endless, 4096).error.code, base::errc::too_large);
}

}  // namespace
}  // namespace cotrain::net::tcp
