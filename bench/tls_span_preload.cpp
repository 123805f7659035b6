// What callgrind counts between an event and its apply, and nothing else: loaded in front of OpenSSL (LD_PRELOAD) under
// valgrind --tool=callgrind --collect-atstart=no. Collects from where SSL_read_ex has given an ADDED TrainJob until
// SSL_write_ex is called. When the process ends it writes the number of such spans to the file called $TLS_SPANS.
#include <dlfcn.h>
#include <openssl/ssl.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_TOGGLE_COLLECT static_cast<void>(0)
#endif

namespace {

constexpr int skipped = 20;  // spans at the beginning, which run code for the first time

bool collecting = false;
int seen = 0;

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

bool brings_a_job(std::string_view plaintext) {
    return plaintext.find(
               R"({"type":"ADDED","object":{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",)") !=
           std::string_view::npos;
}

[[gnu::destructor]] void tell() {
    const char* const path = std::getenv("TLS_SPANS");
    if (path == nullptr || seen <= skipped) return;
    if (std::FILE* const to = std::fopen(path, "w"); to != nullptr) {
        std::fprintf(to, "%d\n", seen - skipped);
        std::fclose(to);
    }
}

}  // namespace

extern "C" int SSL_read_ex(SSL* ssl, void* into, std::size_t room, std::size_t* got) {
    static const auto real = next<int (*)(SSL*, void*, std::size_t, std::size_t*)>("SSL_read_ex");
    if (collecting) CALLGRIND_TOGGLE_COLLECT;  // decrypting is not in the span
    const int done = real(ssl, into, room, got);
    if (collecting) CALLGRIND_TOGGLE_COLLECT;
    if (done != 1 || collecting || !brings_a_job({static_cast<const char*>(into), *got})) return done;
    if (++seen <= skipped) return done;
    collecting = true;
    CALLGRIND_TOGGLE_COLLECT;
    return done;
}

extern "C" int SSL_write_ex(SSL* ssl, const void* from, std::size_t size, std::size_t* taken) {
    static const auto real = next<int (*)(SSL*, const void*, std::size_t, std::size_t*)>("SSL_write_ex");
    if (collecting) CALLGRIND_TOGGLE_COLLECT;
    collecting = false;
    return real(ssl, from, size, taken);
}
