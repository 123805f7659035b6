// Any bytes as what a TLS peer says, before, during and after the handshake, and as PEM: errors, never a crash.
// The first byte chooses the attack, the second how the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "../support/certificates.cpp"  // fuzz programs see the rooms, not the tests' library
#include "budget.hpp"
#include "net/tls/engine.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::net;

void demand(bool holds) {
    if (!holds) std::abort();
}

void demand_one_line(const base::error& e) {
    demand(!e.message.empty() && e.message.size() < 2000);
    for (const char c : e.message) demand(static_cast<unsigned char>(c) >= 0x20);
}

struct keys {
    std::shared_ptr<const tls::context> client, server;
    std::string ca_pem, client_key_pem;

    static const keys& get() {
        static const keys made = [] {
            const test::authority ca;
            const test::certificate leaf = ca.issue({.common_name = "api", .names = {"api.test"}});
            return keys{
                tls::context::for_client({.ca_pem = ca.pem()}).value(),
                tls::context::for_server(
                    {.certificate_pem = leaf.certificate_pem, .key_pem = leaf.key_pem, .client_ca_pem = ca.pem()})
                    .value(),
                ca.pem(), leaf.key_pem};
        }();
        return made;
    }
};

// Feeds as a connection would; false once the engine has failed for good.
bool take(tls::engine& engine, std::string_view bytes, std::size_t piece) {
    base::byte_queue plaintext;
    while (!bytes.empty()) {
        const std::string now(bytes.substr(0, piece));
        bytes.remove_prefix(now.size());
        auto fed = engine.feed(now);
        auto done = fed ? engine.handshake() : base::result<bool>(base::fail(fed.error()));
        if (done && *done) done = engine.read(plaintext);
        if (!done) {
            demand_one_line(done.error());
            demand(!engine.handshake() && !engine.feed("x") && !engine.write("x") && !engine.read(plaintext));
            demand(engine.outgoing().size() < 64 * 1024);
            return false;
        }
    }
    demand_one_line(engine.truncated());
    return true;
}

std::string sent(tls::engine& engine) {
    std::string bytes(engine.outgoing().view());
    engine.outgoing().clear();
    return bytes;
}

// A real handshake in which the bytes are laid over what is sent: in the first, second or third flight.
void tamper(std::string_view noise, std::size_t piece, unsigned flight, std::size_t at) {
    tls::engine client(keys::get().client, "api.test");
    tls::engine server(keys::get().server);
    demand(client.handshake().has_value());
    tls::engine* from = &client;
    tls::engine* to = &server;
    for (unsigned i = 0; i < 4; ++i) {
        std::string bytes = sent(*from);
        if (i == flight && !bytes.empty())
            for (std::size_t k = 0; k < noise.size(); ++k)
                bytes[(at + k) % bytes.size()] = static_cast<char>(bytes[(at + k) % bytes.size()] ^ noise[k]);
        if (!take(*to, bytes, piece)) return;
        std::swap(from, to);
    }
}

void check_pem(std::string_view bytes) {
    if (bytes.empty()) return;  // stands for the system's authorities, which are not a stranger's
    fuzz::at_two_sizes(bytes, [](std::string_view pem) {
        fuzz::within_budget("PEM", pem.size(), [&] { (void)tls::context::for_client({.ca_pem = std::string(pem)}); });
    });
    const std::string text(bytes);
    for (const auto& made :
         {tls::context::for_client({.ca_pem = text.empty() ? "x" : text}),
          tls::context::for_client({.ca_pem = keys::get().ca_pem, .certificate_pem = text, .key_pem = text}),
          tls::context::for_client(
              {.ca_pem = keys::get().ca_pem, .certificate_pem = text, .key_pem = keys::get().client_key_pem})})
        if (!made) demand_one_line(made.error());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 4) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 4, size - 4);
    const std::size_t piece = data[1] + 1U;
    switch (data[0] % 4) {
        case 0: {
            tls::engine server(keys::get().server);
            take(server, bytes, piece);
            break;
        }
        case 1: {
            tls::engine client(keys::get().client, "api.test");
            demand(client.handshake().has_value());
            take(client, bytes, piece);
            break;
        }
        case 2: tamper(bytes, piece, data[2] % 4, data[3] * 7U); break;
        default: check_pem(bytes); break;
    }
    return 0;
}
