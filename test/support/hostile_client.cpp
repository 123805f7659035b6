// Blocking sockets with a time limit, and OpenSSL on them.
#include "support/hostile_client.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/bio.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <cstdint>
#include <memory>
#include <utility>

namespace cotrain::test {

namespace {

using clock = std::chrono::steady_clock;

void wait_at_most(int socket, std::chrono::milliseconds time) {
    const timeval limit{.tv_sec = time.count() / 1000, .tv_usec = time.count() % 1000 * 1000};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

// What BIO_s_socket() does: the image's OpenSSL is built without it.
int socket_of(BIO* from) { return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(from))); }
int receive(BIO* from, char* to, int room) {
    return static_cast<int>(::recv(socket_of(from), to, static_cast<std::size_t>(room), 0));
}
int transmit(BIO* to, const char* from, int size) {
    return static_cast<int>(::send(socket_of(to), from, static_cast<std::size_t>(size), MSG_NOSIGNAL));
}
long control_of_bio(BIO* /*of*/, int command, long /*number*/, void* /*pointer*/) {
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}
BIO* bio_on(int socket) {
    static const std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)> method = [] {
        BIO_METHOD* const made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
        BIO_meth_set_read(made, receive);
        BIO_meth_set_write(made, transmit);
        BIO_meth_set_ctrl(made, control_of_bio);
        return std::unique_ptr<BIO_METHOD, void (*)(BIO_METHOD*)>(made, BIO_meth_free);
    }();
    BIO* const out = BIO_new(method.get());
    BIO_set_data(out, reinterpret_cast<void*>(static_cast<std::intptr_t>(socket)));
    BIO_set_init(out, 1);
    return out;
}

}  // namespace

hostile_client::hostile_client(std::uint16_t port, over what, std::string_view protocols, int version)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    std::signal(SIGPIPE, SIG_IGN);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    wait_at_most(socket_, std::chrono::seconds(20));
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return;
    if (what == over::tcp) {
        ready_ = true;
        return;
    }
    context_ = SSL_CTX_new(TLS_client_method());
    if (version != 0) {
        SSL_CTX_set_security_level(context_, 0);
        SSL_CTX_set_min_proto_version(context_, 0);
        SSL_CTX_set_max_proto_version(context_, version);
    }
    tls_ = SSL_new(context_);
    BIO* const bio = bio_on(socket_);
    SSL_set_bio(tls_, bio, bio);
    if (!protocols.empty()) {
        SSL_set_alpn_protos(tls_, reinterpret_cast<const unsigned char*>(protocols.data()),
                            static_cast<unsigned>(protocols.size()));
    }
    ready_ = SSL_connect(tls_) == 1;
}

hostile_client::hostile_client(hostile_client&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      context_(std::exchange(other.context_, nullptr)),
      tls_(std::exchange(other.tls_, nullptr)),
      ready_(other.ready_),
      closed_(other.closed_) {}

hostile_client::~hostile_client() {
    SSL_free(tls_);
    SSL_CTX_free(context_);
    if (socket_ >= 0) ::close(socket_);
}

bool hostile_client::send(std::string_view bytes) {
    while (!bytes.empty() && !closed_) {
        const auto sent = tls_ != nullptr ? SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()))
                                          : ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (sent <= 0) closed_ = true;
        if (sent > 0) bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return !closed_;
}

std::string hostile_client::read_all(std::chrono::seconds within) {
    std::string all;
    const auto due = clock::now() + within;
    char part[16384];
    for (;;) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(due - clock::now());
        if (left.count() <= 0) return all;
        wait_at_most(socket_, left);
        const auto got = tls_ != nullptr ? SSL_read(tls_, part, sizeof part) : ::recv(socket_, part, sizeof part, 0);
        if (got > 0) {
            all.append(part, static_cast<std::size_t>(got));
            continue;
        }
        closed_ = clock::now() < due;
        return all;
    }
}

}  // namespace cotrain::test
