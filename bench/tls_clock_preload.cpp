// Goal 5, on the whole operator: from an event's bytes as TLS gives them to the bytes of the applies as TLS gets them.
// Loaded in front of OpenSSL (LD_PRELOAD), it notes when SSL_read_ex returned and SSL_write_ex was called, and what
// passed; when the process ends it writes a line for each TrainJob to a file called $TLS_CLOCK.PID, in microseconds:
//   from its ADDED event to the first write that names it, from the next read that does to the next write, …
// Only clients are timed: the server of `cotrain bench` may share the environment.
#include <dlfcn.h>
#include <openssl/ssl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;

struct passed {
    clock_type::time_point when;
    std::size_t begin;
    std::size_t end;
    bool in;
};

// Never destroyed by itself: reads and writes may come until the very end.
struct notes {
    std::string bytes;
    std::vector<passed> all;
    notes() {
        bytes.reserve(std::size_t{256} << 20);
        all.reserve(1 << 18);
    }
    // The caller's clock stands still in here: what is read counts from the end, what is written up to the beginning.
    void add(bool in, const void* data, std::size_t size) {
        const auto began = clock_type::now();
        const std::size_t begin = bytes.size();
        if (begin + size > bytes.capacity() || all.size() == all.capacity()) return;  // never a pause to grow
        bytes.append(static_cast<const char*>(data), size);
        all.push_back({began, begin, begin + size, in});
        if (in) all.back().when = clock_type::now();
    }
    [[nodiscard]] std::string_view text(const passed& of) const {
        return std::string_view(bytes).substr(of.begin, of.end - of.begin);
    }
};

notes& noted() {
    static notes* const one = new notes;
    return *one;
}

template <class F>
F next(const char* name) {
    return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

// The names of jobs in a read that are new there.
std::vector<std::string> new_jobs(std::string_view text) {
    constexpr std::string_view added =
        R"({"type":"ADDED","object":{"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"TrainJob",)";
    constexpr std::string_view name = R"("name":")";
    std::vector<std::string> out;
    for (std::size_t at = 0; (at = text.find(added, at)) != std::string_view::npos;) {
        at += added.size();
        const std::string_view head = text.substr(at, 1000);
        const std::size_t key = head.find(name);
        if (key == std::string_view::npos) continue;
        const std::string_view rest = head.substr(key + name.size());
        out.emplace_back(rest.substr(0, rest.find('"')));
    }
    return out;
}

// A job's name, and not the beginning of a longer one.
bool names(std::string_view text, const std::string& job) {
    for (std::size_t at = 0; (at = text.find(job, at)) != std::string_view::npos; ++at) {
        const char after = at + job.size() < text.size() ? text[at + job.size()] : '"';
        if (after < '0' || after > '9') return true;
    }
    return false;
}

// The first two spans: snapshot and JobSet, which is enough of a job's life.
void print_spans(std::FILE* to, std::size_t event, const std::string& job) {
    const notes& n = noted();
    int left = 4;
    bool want_read = false;
    clock_type::time_point since = n.all[event].when;
    for (std::size_t i = event + 1; i < n.all.size() && left > 1; ++i) {
        if (n.all[i].in != want_read || !names(n.text(n.all[i]), job)) continue;
        if (want_read)
            since = n.all[i].when;
        else
            std::fprintf(to, "%.1f ", std::chrono::duration<double, std::micro>(n.all[i].when - since).count());
        want_read = !want_read;
        --left;
    }
    std::fputc('\n', to);
}

[[gnu::destructor]] void tell() {
    const char* const path = std::getenv("TLS_CLOCK");
    if (path == nullptr || noted().all.empty()) return;
    std::FILE* const to = std::fopen((std::string(path) + "." + std::to_string(::getpid())).c_str(), "w");
    if (to == nullptr) return;
    for (std::size_t i = 0; i < noted().all.size(); ++i)
        if (noted().all[i].in)
            for (const std::string& job : new_jobs(noted().text(noted().all[i]))) print_spans(to, i, job);
    std::fclose(to);
}

}  // namespace

extern "C" int SSL_read_ex(SSL* ssl, void* into, std::size_t room, std::size_t* got) {
    static const auto real = next<int (*)(SSL*, void*, std::size_t, std::size_t*)>("SSL_read_ex");
    const int done = real(ssl, into, room, got);
    if (done == 1 && SSL_is_server(ssl) == 0) noted().add(true, into, *got);
    return done;
}

extern "C" int SSL_write_ex(SSL* ssl, const void* from, std::size_t size, std::size_t* taken) {
    static const auto real = next<int (*)(SSL*, const void*, std::size_t, std::size_t*)>("SSL_write_ex");
    if (SSL_is_server(ssl) == 0) noted().add(false, from, size);
    return real(ssl, from, size, taken);
}
