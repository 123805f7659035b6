// The HTTP/2 client alone, against any server that speaks HTTP/2 over TLS.
//   get HOST PORT PATH [CA.pem]   prints status and body
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/read_file.hpp"
#include "net/client.hpp"

namespace {

// The client's owner stops it before it goes.
cotrain::awaitable<void> get(cotrain::net::client* client, std::string path, int* code) {
    const auto answer = co_await client->send({.path = std::move(path), .idempotent = true});
    if (answer) std::printf("%d\n%s\n", answer->status, answer->body.c_str());
    if (!answer) std::fprintf(stderr, "get: %s\n", answer.error().message.c_str());
    *code = answer && answer->status == 200 ? 0 : 1;
    co_await client->stop();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return std::fputs("usage: get HOST PORT PATH [CA.pem]\n", stderr), 2;
    cotrain::net::tls::client_options trust;
    if (argc > 4) {
        auto pem = cotrain::base::read_file(argv[4], std::size_t{1} << 20U);
        if (!pem) return std::fprintf(stderr, "get: %s\n", pem.error().message.c_str()), 2;
        trust.ca_pem = *std::move(pem);
    }
    const auto tls = cotrain::net::tls::context::for_client(trust);
    if (!tls) return std::fprintf(stderr, "get: %s\n", tls.error().message.c_str()), 2;
    boost::asio::io_context loop(1);
    cotrain::net::client_options options;
    options.peer = {argv[1], static_cast<std::uint16_t>(std::atoi(argv[2]))};
    options.tls = *tls;
    cotrain::net::client client(loop.get_executor(), options, cotrain::base::stderr_logger());
    int code = 1;
    boost::asio::co_spawn(loop, get(&client, argv[3], &code), boost::asio::detached);
    loop.run();
    return code;
}
