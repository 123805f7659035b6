// TLS over memory: any cutting of the bytes, endings, and what a hostile peer can do.
#include "net/tls/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "net/tls_defaults.hpp"

namespace cotrain::net::tls {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// Bytes in which every position is recognisable.
std::string pattern(std::size_t size, std::size_t from = 0) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(((from + i) * 2654435761U) >> 24U);
    return bytes;
}

TEST(tls_engine, works_however_the_bytes_are_cut) {
    const context_ptr server = server_keys();
    for (const int version : {tls12, tls13}) {
        for (const std::size_t piece : {1U, 2U, 5U, 6U, 1000U, 16384U, 65536U}) {
            tls_pair pair(client_keys(version), server, "api.test", piece);
            ASSERT_TRUE(pair.connected()) << piece << pair.client.message() << pair.server.message();
            const std::string request = pattern(40'000);
            const std::string answer = pattern(50'000, 7);
            pair.client.say(request);
            pair.server.say(answer);
            pair.client.say("x");
            pair.settle();
            EXPECT_TRUE(pair.server.got == request + "x") << piece;
            EXPECT_TRUE(pair.client.got == answer) << piece;
        }
    }
}

TEST(tls_engine, data_behind_the_handshake_is_not_lost) {
    // The client's last handshake message and its first request arrive in one piece.
    tls_end client{engine(client_keys(), "api.test")};
    tls_end server{engine(server_keys())};
    client.advance();
    server.take(client.send(), 65536);
    client.take(server.send(), 65536);
    ASSERT_TRUE(client.complete);
    client.say("early bird");
    const std::string both = client.send();
    ASSERT_TRUE(server.tls.feed(both));
    ASSERT_TRUE(server.tls.handshake().value_or(false));
    base::byte_queue plaintext;
    ASSERT_TRUE(server.tls.read(plaintext).value_or(false));
    EXPECT_EQ(plaintext.view(), "early bird");
}

TEST(tls_engine, sixty_four_mebibytes_pass_unharmed) {
    tls_pair pair(client_keys(), server_keys(), "api.test", 100'000);
    constexpr std::size_t step = 1U << 20U;
    for (std::size_t sent = 0; sent < 64 * step; sent += step) {
        const std::string bytes = pattern(step, sent);
        pair.client.say(bytes);
        pair.settle();
        ASSERT_TRUE(pair.server.got == bytes) << sent;
        pair.server.got.clear();
    }
}

TEST(tls_engine, one_write_becomes_full_records) {
    tls_pair pair(client_keys(), server_keys());
    pair.client.say(std::string(64 * 1024, 'x'));
    const std::string sealed = pair.client.send();
    EXPECT_EQ(sealed.size(), 4U * (16384 + 22));
    pair.client.say("");
    EXPECT_TRUE(pair.client.tls.outgoing().empty());
}

TEST(tls_engine, the_server_chooses_the_protocol_in_its_order) {
    client_options offering = keys().trusting();
    server_options speaking = keys().serving();
    const auto chosen = [&](std::vector<std::string> offered, std::vector<std::string> spoken) {
        offering.alpn = std::move(offered);
        speaking.alpn = std::move(spoken);
        tls_pair pair(make_context(offering), make_context(speaking));
        EXPECT_TRUE(pair.connected()) << pair.client.message();
        EXPECT_EQ(pair.client.tls.protocol(), pair.server.tls.protocol());
        return std::string(pair.client.tls.protocol());
    };
    EXPECT_EQ(chosen({"http/1.1", "h2"}, {"h2", "http/1.1"}), "h2");
    EXPECT_EQ(chosen({"h2", "http/1.1"}, {"http/1.1", "h2"}), "http/1.1");
    EXPECT_EQ(chosen({"http/1.1"}, {"h2", "http/1.1"}), "http/1.1");
    EXPECT_EQ(chosen({}, {"h2"}), "");
    EXPECT_EQ(chosen({"h2"}, {}), "");
}

TEST(tls_engine, no_protocol_in_common_is_said_on_both_sides) {
    client_options offering = keys().trusting();
    offering.alpn = {"h3"};
    tls_pair pair(make_context(offering), server_keys());
    EXPECT_EQ(pair.server.message(), "peer speaks none of h2, http/1.1");
    EXPECT_EQ(pair.client.message(), "peer speaks none of h3");
}

TEST(tls_engine, versions_without_overlap_are_said_on_both_sides) {
    server_options modern = keys().serving();
    modern.version_min = tls13;
    tls_pair pair(client_keys(tls12), make_context(modern));
    EXPECT_EQ(pair.server.message(), "peer speaks only a TLS version that is too old");
    EXPECT_EQ(pair.client.message(), "peer speaks none of our TLS versions (1.2 and 1.3)");
}

TEST(tls_engine, old_versions_and_weak_suites_are_never_spoken) {
    for (const char* suites : {"AES128-GCM-SHA256", "ECDHE-ECDSA-AES128-SHA"}) {
        const context_ptr weak = client_keys(tls12);
        ASSERT_EQ(SSL_CTX_set_cipher_list(weak->native(), suites), 1);
        tls_pair pair(weak, server_keys());
        EXPECT_EQ(pair.server.message(), "no cipher suite in common with the peer");
        EXPECT_EQ(pair.client.message(),
                  "peer refused the handshake: nothing in common, or it demands a client certificate");
    }
    const context_ptr old = client_keys();
    SSL_CTX_set_min_proto_version(old->native(), 0x0301);
    SSL_CTX_set_max_proto_version(old->native(), 0x0302);
    SSL_CTX_set_cipher_list(old->native(), "ALL:@SECLEVEL=0");
    tls_pair pair(old, server_keys());
    EXPECT_TRUE(pair.server.error);
    EXPECT_TRUE(pair.client.error);
}

TEST(tls_ending, close_notify_comes_after_the_data) {
    tls_pair pair(client_keys(), server_keys(), "api.test", 7);
    pair.server.say("last words");
    pair.server.tls.close();
    pair.server.tls.close();
    pair.settle();
    EXPECT_EQ(pair.client.got, "last words");
    EXPECT_TRUE(pair.client.ended);
    EXPECT_FALSE(pair.client.error);
    // The other direction still works.
    pair.client.say("thanks");
    pair.settle();
    EXPECT_EQ(pair.server.got, "thanks");
    EXPECT_FALSE(pair.server.ended);
    pair.client.tls.close();
    pair.settle();
    EXPECT_TRUE(pair.server.ended);
}

TEST(tls_ending, nothing_is_written_after_close) {
    tls_pair pair(client_keys(), server_keys());
    pair.client.tls.close();
    pair.client.say("late");
    ASSERT_TRUE(pair.client.error);
    EXPECT_EQ(pair.client.error->code, base::errc::internal);
}

TEST(tls_ending, truncation_is_told_from_a_goodbye) {
    tls_end client{engine(client_keys(), "api.test")};
    client.advance();
    EXPECT_EQ(client.tls.truncated().code, base::errc::connect);
    EXPECT_EQ(client.tls.truncated().message, "peer closed the connection at the start of the TLS handshake");
    tls_end server{engine(server_keys())};
    server.take(client.send(), 65536);
    client.take(server.send().substr(0, 100), 65536);
    EXPECT_EQ(client.tls.truncated().message, "peer closed the connection during the TLS handshake");
    tls_pair pair(client_keys(), server_keys());
    pair.server.say("half a rec");
    const std::string sealed = pair.server.send();
    pair.client.take(sealed.substr(0, sealed.size() - 1), 65536);
    EXPECT_FALSE(pair.client.ended);
    EXPECT_EQ(pair.client.got, "");
    EXPECT_EQ(pair.client.tls.truncated().code, base::errc::lost);
    EXPECT_EQ(pair.client.tls.truncated().message, "connection ended without TLS close_notify: bytes may be missing");
}

TEST(tls_hostile, a_peer_without_tls_is_recognised) {
    const auto answer = [](std::string_view bytes) {
        tls_end client{engine(client_keys(), "api.test")};
        client.advance();
        client.take(bytes, 3);
        return client.error ? client.message() : client.tls.truncated().message;
    };
    EXPECT_EQ(answer("HTTP/1.1 400 Bad Request\r\nX: y\r\n\r\n"), "peer speaks no TLS (answered 'HTTP/1')");
    EXPECT_EQ(answer("no"), "peer speaks no TLS (answered 'no')");
    tls_end client{engine(client_keys(), "api.test")};
    client.advance();
    client.take("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", 4096);
    EXPECT_EQ(client.message(), "peer speaks no TLS (answered 'HTTP/1.1 400 Bad Request')");
    EXPECT_EQ(answer(std::string_view("\0\0\x12\x04\0\0\0\0\0", 9)),
              "peer speaks no TLS (answered bytes 00 00 12 04 00 00)");
    tls_end server{engine(server_keys())};
    server.advance();
    server.take("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 4096);
    EXPECT_EQ(server.message(), "peer speaks no TLS (sent 'GET /healthz HTTP/1.1')");
}

// All bytes each side sends up to the end of the handshake and of one message.
struct recording {
    std::string to_server, to_client;
};

recording record(int version) {
    recording all;
    tls_end client{engine(client_keys(version), "api.test")};
    tls_end server{engine(server_keys())};
    client.advance();
    for (int turn = 0; turn < 4; ++turn) {
        if (turn == 2) client.say("hello");
        const std::string up = client.send();
        all.to_server += up;
        server.take(up, 65536);
        const std::string down = server.send();
        all.to_client += down;
        client.take(down, 65536);
    }
    EXPECT_EQ(server.got, "hello");
    return all;
}

TEST(tls_hostile, garbage_at_any_point_ends_in_an_error) {
    for (const int version : {tls12, tls13}) {
        const recording good = record(version);
        const std::string garbage = pattern(20'000, 99);
        for (std::size_t at = 0; at < good.to_server.size(); at += 7) {
            tls_end server{engine(server_keys())};
            server.advance();
            server.take(good.to_server.substr(0, at), 65536);
            server.take(garbage, 65536);
            ASSERT_TRUE(server.error) << at;
            EXPECT_EQ(server.error->code, base::errc::tls);
            EXPECT_FALSE(server.error->message.empty());
            EXPECT_FALSE(server.tls.feed("more"));
        }
        for (std::size_t at = 0; at < good.to_client.size(); at += 7) {
            tls_end client{engine(client_keys(version), "api.test")};
            client.advance();
            client.take(good.to_client.substr(0, at), 65536);
            client.take(garbage, 65536);
            ASSERT_TRUE(client.error) << at;
            EXPECT_EQ(client.error->code, base::errc::tls);
        }
    }
}

TEST(tls_hostile, a_flipped_bit_is_noticed_and_told_to_the_peer) {
    tls_pair pair(client_keys(), server_keys());
    pair.client.say("precious");
    std::string sealed = pair.client.send();
    sealed[10] = static_cast<char>(sealed[10] ^ 1);
    pair.server.take(sealed, 65536);
    EXPECT_EQ(pair.server.message(), "a record was damaged on its way (bad MAC)");
    EXPECT_EQ(pair.server.got, "");
    pair.client.take(pair.server.send(), 65536);
    EXPECT_EQ(pair.client.message(), "peer ended the connection: bad record mac");
    // An error is final.
    EXPECT_EQ(pair.server.tls.write("x").error().message, pair.server.message());
    EXPECT_EQ(pair.server.tls.handshake().error().message, pair.server.message());
    EXPECT_EQ(pair.server.tls.truncated().message, pair.server.message());
}

TEST(tls_hostile, misuse_is_an_error_and_no_crash) {
    engine early(server_keys());
    EXPECT_EQ(early.write("x").error().code, base::errc::internal);
    engine reader(server_keys());
    base::byte_queue plaintext;
    EXPECT_EQ(reader.read(plaintext).error().code, base::errc::internal);
    engine closer(server_keys());
    closer.close();
    EXPECT_TRUE(closer.outgoing().empty());
    EXPECT_EQ(closer.protocol(), "");
    EXPECT_EQ(closer.peer_subject(), "");
}

TEST(tls_hostile, unread_bytes_are_bounded_in_both_directions) {
    tls_pair pair(client_keys(), server_keys());
    const std::string mebibyte(1U << 20U, 'x');
    std::size_t unsent = 0;
    while (!pair.client.error && unsent < 64) {
        pair.client.say(mebibyte);
        ++unsent;
    }
    ASSERT_TRUE(pair.client.error);
    EXPECT_EQ(pair.client.error->code, base::errc::too_large);
    EXPECT_EQ(pair.client.message(), "peer has left 16 MiB unread");
    EXPECT_LE(pair.client.tls.outgoing().size(), outgoing_bytes_max);

    base::result<> fed;
    std::size_t unread = 0;
    while (fed && unread < 64) {
        fed = pair.server.tls.feed(mebibyte);
        ++unread;
    }
    ASSERT_FALSE(fed);
    EXPECT_EQ(fed.error().code, base::errc::too_large);
    EXPECT_EQ(fed.error().message, "more than 4 MiB of TLS records unread");
    EXPECT_EQ(unread, 5U);
}

// A peer made of bare OpenSSL, which does what our engine would not.
struct bare_client {
    SSL_CTX* keys = SSL_CTX_new(TLS_client_method());
    SSL* ssl = SSL_new(keys);
    BIO* in = BIO_new(BIO_s_mem());
    BIO* out = BIO_new(BIO_s_mem());

    bare_client() {
        SSL_set_bio(ssl, in, out);
        SSL_set_connect_state(ssl);
    }
    bare_client(const bare_client&) = delete;
    bare_client& operator=(const bare_client&) = delete;
    ~bare_client() {
        SSL_free(ssl);
        SSL_CTX_free(keys);
    }
    std::string send() {
        std::string bytes(BIO_ctrl_pending(out), '\0');
        const int size = BIO_read(out, bytes.data(), static_cast<int>(bytes.size()));
        bytes.resize(size > 0 ? static_cast<std::size_t>(size) : 0);
        return bytes;
    }
    void connect(tls_end& server) {
        for (int turn = 0; turn < 5; ++turn) {
            SSL_do_handshake(ssl);
            server.take(send(), 65536);
            const std::string back = server.send();
            BIO_write(in, back.data(), static_cast<int>(back.size()));
        }
    }
};

TEST(tls_hostile, a_flood_of_key_updates_is_stopped) {
    tls_end server{engine(server_keys())};
    bare_client peer;
    peer.connect(server);
    ASSERT_TRUE(server.complete);
    std::string flood;
    for (unsigned i = 0; i < 10 * post_handshake_messages_burst; ++i) {
        SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED);
        SSL_do_handshake(peer.ssl);
        flood += peer.send();
        if (i + 1 == post_handshake_messages_burst) {
            server.take(flood, 65536);
            EXPECT_FALSE(server.error) << server.message();
            flood.clear();
        }
    }
    server.take(flood, 1U << 20U);
    ASSERT_TRUE(server.error);
    EXPECT_EQ(server.message(), "peer floods us with TLS tickets or key updates");
    EXPECT_EQ(server.error->code, base::errc::protocol);
    EXPECT_LT(server.tls.outgoing().size(), 100U * post_handshake_messages_burst);
}

TEST(tls_hostile, key_updates_now_and_then_are_followed) {
    tls_end server{engine(server_keys())};
    bare_client peer;
    peer.connect(server);
    ASSERT_TRUE(server.complete);
    const std::string mebibyte = pattern(1U << 20U);
    for (unsigned i = 0; i < 2 * post_handshake_messages_burst; ++i) {
        SSL_key_update(peer.ssl, SSL_KEY_UPDATE_REQUESTED);
        ASSERT_EQ(SSL_write(peer.ssl, mebibyte.data(), static_cast<int>(mebibyte.size())),
                  static_cast<int>(mebibyte.size()));
        server.take(peer.send(), 65536);
        ASSERT_FALSE(server.error) << server.message();
        ASSERT_TRUE(server.got == mebibyte);
        server.got.clear();
        static_cast<void>(server.send());
    }
}

TEST(tls_hostile, renegotiation_is_refused) {
    tls_end server{engine(server_keys())};
    bare_client peer;
    SSL_set_max_proto_version(peer.ssl, tls12);
    peer.connect(server);
    ASSERT_TRUE(server.complete);
    ERR_clear_error();
    ASSERT_EQ(SSL_renegotiate(peer.ssl), 1);
    EXPECT_NE(SSL_do_handshake(peer.ssl), 1);
    server.take(peer.send(), 65536);
    const std::string answer = server.send();
    EXPECT_LT(answer.size(), 50U) << "a warning, not a handshake";
    BIO_write(peer.in, answer.data(), static_cast<int>(answer.size()));
    EXPECT_NE(SSL_do_handshake(peer.ssl), 1);
    EXPECT_EQ(ERR_GET_REASON(ERR_peek_error()), SSL_R_NO_RENEGOTIATION);
    ERR_clear_error();
}

}  // namespace
}  // namespace cotrain::net::tls
