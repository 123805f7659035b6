// The BIO method over memory_ends.
#include "net/tls/memory_bio.hpp"

#include <algorithm>
#include <cstring>

#include "net/tls/engine.hpp"

namespace cotrain::net::tls {
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

}  // namespace

BIO* make_memory_bio(memory_ends& ends) {
    static BIO_METHOD* const method = make_method();
    BIO* bio = method != nullptr ? BIO_new(method) : nullptr;
    if (bio == nullptr) return nullptr;
    BIO_set_data(bio, &ends);
    BIO_set_init(bio, 1);
    return bio;
}

}  // namespace cotrain::net::tls
