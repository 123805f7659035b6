#include "net/tls/engine.hpp"

#include <fmt/format.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "base/byte_queue.hpp"
#include "net/tls/errors.hpp"
#include "net/tls/pem.hpp"
#include "net/tls/session_cache.hpp"

namespace cotrain::net::tls {

struct memory_ends {
    base::byte_queue kept;       // bytes that came before those of `fed` …
    std::string_view fed;        // … which are still the caller's
    base::byte_queue outgoing;   // towards the peer
    bool stopped = false;        // no more bytes are to be read: the peer went too far
    bool outgoing_full = false;  // outgoing_bytes_max was reached

    [[nodiscard]] std::size_t incoming() const { return kept.size() + fed.size(); }
};

// A BIO over `ends`, which must outlive it; nullptr without memory.
[[nodiscard]] BIO* make_memory_bio(memory_ends& ends);

namespace {

// Alerts still pass when data no longer does.
constexpr std::size_t alert_bytes = 1024;

memory_ends& ends_of(BIO* bio) { return *static_cast<memory_ends*>(BIO_get_data(bio)); }

int read_memory(BIO* bio, char* out, std::size_t wanted, std::size_t* got) noexcept {
    memory_ends& ends = ends_of(bio);
    BIO_clear_retry_flags(bio);
    *got = 0;
    if (ends.stopped) return 0;
    const bool from_kept = !ends.kept.empty();
    const std::string_view source = from_kept ? ends.kept.view() : ends.fed;
    if (source.empty()) {
        BIO_set_retry_read(bio);
        return 0;
    }
    *got = std::min(wanted, source.size());
    std::memcpy(out, source.data(), *got);
    if (from_kept) {
        ends.kept.consume(*got);
    } else {
        ends.fed.remove_prefix(*got);
    }
    return 1;
}

int write_memory(BIO* bio, const char* bytes, std::size_t size, std::size_t* written) noexcept {
    memory_ends& ends = ends_of(bio);
    BIO_clear_retry_flags(bio);
    *written = 0;
    if (ends.outgoing.size() + size > outgoing_bytes_max + alert_bytes) {
        ends.outgoing_full = true;
        return 0;
    }
    ends.outgoing.append({bytes, size});
    *written = size;
    return 1;
}

long control(BIO*, int command, long, void*) noexcept { return command == BIO_CTRL_FLUSH ? 1 : 0; }

BIO_METHOD* make_method() {
    BIO_METHOD* method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "memory ends");
    if (method == nullptr) return nullptr;
    BIO_meth_set_read_ex(method, read_memory);
    BIO_meth_set_write_ex(method, write_memory);
    BIO_meth_set_ctrl(method, control);
    return method;
}

constexpr std::size_t first_bytes_max = 64;
constexpr std::size_t record_bytes_max = 16384;
constexpr std::size_t record_overhead_max = 32;  // header, nonce, content type and tag
constexpr std::size_t bytes_per_allowed_message = 1U << 20U;
constexpr std::size_t server_retain_bytes = 4096;

// OpenSSL judges a call by its queue of errors, which must be empty before; it nearly always is, and emptying it costs
// as if it were not.
void forget_errors() {
    if (ERR_peek_error() != 0) ERR_clear_error();
}

bool is_address(const std::string& text) {
    ASN1_OCTET_STRING* bytes = a2i_IPADDRESS(text.c_str());
    ASN1_OCTET_STRING_free(bytes);
    ERR_clear_error();
    return bytes != nullptr;
}

// A name without its final dot, an address without brackets and zone.
std::string plain_name(std::string name) {
    if (name.size() > 2 && name.front() == '[' && name.back() == ']') name = name.substr(1, name.size() - 2);
    if (name.find(':') != std::string::npos) name = name.substr(0, name.find('%'));
    if (name.ends_with('.')) name.pop_back();
    return name;
}

bool presentable(std::string_view name) {
    return !name.empty() && name.size() <= TLSEXT_MAXLEN_host_name &&
           std::ranges::all_of(name, [](char c) { return c > 0x20 && c != 0x7f; });
}

}  // namespace

BIO* make_memory_bio(memory_ends& ends) {
    static BIO_METHOD* const method = make_method();
    BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
    if (bio == nullptr) return nullptr;
    BIO_set_data(bio, &ends);
    BIO_set_init(bio, 1);
    return bio;
}

struct engine::impl {
    std::shared_ptr<const context> keys;
    link connection;
    memory_ends ends;
    ssl_ptr ssl;  // goes before what its callbacks use
    std::optional<base::error> failed;
    bool peer_closed = false;
    bool said_goodbye = false;
    std::uint64_t plaintext_bytes = 0;
    std::uint64_t post_handshake_messages = 0;

    explicit impl(std::shared_ptr<const context> shared);
    impl(const impl&) = delete;
    impl& operator=(const impl&) = delete;
    ~impl();

    void be_client(std::string server_name);
    void resume();
    std::unexpected<base::error> fail_with(base::error e);
    std::unexpected<base::error> fail_with_cause();
    bool drained() const;
    static void count_message(int write, int, int type, const void* bytes, std::size_t size, SSL* ssl, void* self);
};

engine::impl::impl(std::shared_ptr<const context> shared) : keys(std::move(shared)) {
    connection.alpn = keys->alpn_;
    ERR_clear_error();
    ssl.reset(SSL_new(keys->native()));
    BIO* bio = ssl ? make_memory_bio(ends) : nullptr;
    if (bio == nullptr) {
        failed = base::make_error(base::errc::internal, "no TLS connection: " + take_reason());
        return;
    }
    SSL_set_bio(ssl.get(), bio, bio);
    attach(ssl.get(), &connection);
}

engine::impl::~impl() {
    // Without this OpenSSL takes a connection that just broke for an attack and spoils its session for resumption.
    if (ssl && connection.complete && !failed) SSL_set_shutdown(ssl.get(), SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
}

void engine::impl::be_client(std::string server_name) {
    if (failed) return;
    connection.role = side::client;
    SSL_set_connect_state(ssl.get());
    std::string name = plain_name(std::move(server_name));
    if (!presentable(name)) {
        failed = base::make_error(base::errc::invalid, fmt::format("TLS server name '{}' is no host name or address",
                                                                   base::one_line(name, 100)));
        return;
    }
    const bool address = is_address(name);
    X509_VERIFY_PARAM* expected = SSL_get0_param(ssl.get());
    X509_VERIFY_PARAM_set_hostflags(expected,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    int ok = 1;
    if (keys->verifies()) {
        ok = address ? X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str())
                     : X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size());
    }
    if (ok == 1 && !address) ok = static_cast<int>(SSL_set_tlsext_host_name(ssl.get(), name.c_str()));
    connection.server_name = std::move(name);
    if (ok != 1) {
        failed = base::make_error(base::errc::internal, "TLS server name: " + take_reason());
        return;
    }
    resume();
}

void engine::impl::resume() {
    if (const session_ptr session = keys->sessions_ ? keys->sessions_->take(connection.server_name) : nullptr)
        SSL_set_session(ssl.get(), session.get());
    ERR_clear_error();
}

std::unexpected<base::error> engine::impl::fail_with(base::error e) {
    failed = e;
    ends.fed = {};
    ends.kept.clear();
    return std::unexpected(std::move(e));
}

std::unexpected<base::error> engine::impl::fail_with_cause() {
    if (ends.outgoing_full) {
        return fail_with(base::make_error(base::errc::too_large,
                                          fmt::format("peer has left {} MiB unread", outgoing_bytes_max >> 20U)));
    }
    if (ends.stopped)
        return fail_with(base::make_error(base::errc::protocol, "peer floods us with TLS tickets or key updates"));
    return fail_with(take_error(connection));
}

// OpenSSL sets no limit to messages after the handshake, each of which costs key derivations or memory.
void engine::impl::count_message(int write, int, int type, const void*, std::size_t, SSL*, void* self) {
    if (write != 0 || type != SSL3_RT_HANDSHAKE) return;
    auto& me = *static_cast<impl*>(self);
    if (++me.post_handshake_messages > post_handshake_messages_burst + me.plaintext_bytes / bytes_per_allowed_message)
        me.ends.stopped = true;
}

bool engine::impl::drained() const { return ends.incoming() == 0 && SSL_has_pending(ssl.get()) == 0; }

engine::engine(std::shared_ptr<const context> keys, std::string server_name)
    : impl_(std::make_unique<impl>(std::move(keys))) {
    impl_->be_client(std::move(server_name));
}

engine::engine(std::shared_ptr<const context> keys) : impl_(std::make_unique<impl>(std::move(keys))) {
    impl_->connection.role = side::server;
    // A server has many peers, most of which are idle: they hold no buffers.
    impl_->ends.kept = base::byte_queue(server_retain_bytes);
    impl_->ends.outgoing = base::byte_queue(server_retain_bytes);
    if (!impl_->failed) SSL_set_accept_state(impl_->ssl.get());
}

engine::~engine() = default;
engine::engine(engine&&) noexcept = default;
engine& engine::operator=(engine&&) noexcept = default;

base::result<bool> engine::handshake() {
    impl& me = *impl_;
    if (me.failed) return base::fail(*me.failed);
    if (me.connection.complete) return true;
    ERR_clear_error();
    const int rc = SSL_do_handshake(me.ssl.get());
    if (rc != 1) {
        switch (SSL_get_error(me.ssl.get(), rc)) {
            case SSL_ERROR_WANT_READ: return false;
            case SSL_ERROR_ZERO_RETURN: return me.fail_with(end_of_bytes(me.connection));
            default: return me.fail_with_cause();
        }
    }
    me.connection.complete = true;
    SSL_set_msg_callback(me.ssl.get(), impl::count_message);
    SSL_set_msg_callback_arg(me.ssl.get(), &me);
    me.ends.kept.append(me.ends.fed);
    me.ends.fed = {};
    return true;
}

base::result<> engine::feed(std::string_view ciphertext) {
    impl& me = *impl_;
    if (me.failed) return base::fail(*me.failed);
    if (me.peer_closed) return {};
    memory_ends& ends = me.ends;
    if (ends.incoming() != 0 && ends.incoming() + ciphertext.size() > incoming_bytes_max) {
        return me.fail_with(base::make_error(
            base::errc::too_large, fmt::format("more than {} MiB of TLS records unread", incoming_bytes_max >> 20U)));
    }
    if (std::string& first = me.connection.first_bytes; first.size() < first_bytes_max)
        first.append(ciphertext.substr(0, first_bytes_max - first.size()));
    ends.kept.append(ends.fed);
    ends.fed = ciphertext;
    return {};
}

base::result<bool> engine::read(base::byte_queue& plaintext) {
    impl& me = *impl_;
    if (me.failed) return base::fail(*me.failed);
    if (!me.connection.complete)
        return me.fail_with(base::make_error(base::errc::internal, "TLS read before handshake"));
    if (me.peer_closed) return false;
    SSL* ssl = me.ssl.get();
    forget_errors();
    // Also for a record of which a part came before.
    static_cast<void>(plaintext.prepare(me.ends.incoming() + (SSL_has_pending(ssl) != 0 ? record_bytes_max : 0)));
    for (;;) {
        const std::span<char> room = plaintext.prepare(1);
        std::size_t got = 0;
        if (SSL_read_ex(ssl, room.data(), room.size(), &got) == 1) {
            plaintext.commit(got);
            me.plaintext_bytes += got;
            if (me.drained()) return true;
            continue;
        }
        switch (SSL_get_error(ssl, 0)) {
            case SSL_ERROR_WANT_READ: return true;
            case SSL_ERROR_ZERO_RETURN:
                me.peer_closed = true;
                me.ends.fed = {};
                me.ends.kept.clear();
                return false;
            default: return me.fail_with_cause();
        }
    }
}

base::result<> engine::write(std::string_view plaintext) {
    impl& me = *impl_;
    if (me.failed) return base::fail(*me.failed);
    if (!me.connection.complete || me.said_goodbye)
        return me.fail_with(base::make_error(base::errc::internal, "TLS write before handshake or after close"));
    if (plaintext.empty()) return {};
    base::byte_queue& out = me.ends.outgoing;
    const std::size_t records = plaintext.size() / record_bytes_max + 1;
    const std::size_t sealed = plaintext.size() + records * record_overhead_max;
    if (out.size() + sealed > outgoing_bytes_max) {
        me.ends.outgoing_full = true;
        return me.fail_with_cause();
    }
    static_cast<void>(out.prepare(sealed));
    forget_errors();
    std::size_t written = 0;
    if (SSL_write_ex(me.ssl.get(), plaintext.data(), plaintext.size(), &written) != 1) return me.fail_with_cause();
    return {};
}

void engine::close() {
    impl& me = *impl_;
    if (me.failed || !me.connection.complete || std::exchange(me.said_goodbye, true)) return;
    SSL_shutdown(me.ssl.get());
    ERR_clear_error();
}

base::error engine::truncated() const { return impl_->failed ? *impl_->failed : end_of_bytes(impl_->connection); }

base::byte_queue& engine::outgoing() { return impl_->ends.outgoing; }

std::string_view engine::protocol() const {
    const unsigned char* name = nullptr;
    unsigned size = 0;
    if (impl_->ssl) SSL_get0_alpn_selected(impl_->ssl.get(), &name, &size);
    return {reinterpret_cast<const char*>(name), size};
}

bool engine::resumed() const { return impl_->ssl && SSL_session_reused(impl_->ssl.get()) == 1; }

std::string engine::peer_subject() const {
    const X509* peer = impl_->ssl ? SSL_get0_peer_certificate(impl_->ssl.get()) : nullptr;
    return peer != nullptr ? to_text(X509_get_subject_name(peer)) : std::string{};
}

}  // namespace cotrain::net::tls
