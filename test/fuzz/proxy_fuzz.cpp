// Any bytes as a proxy's answer, a proxy URL or NO_PROXY: no crash, bounds kept, the same however the bytes are cut.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/tcp/proxy.hpp"

namespace {

using namespace cotrain;
using namespace cotrain::net;

void demand(bool holds) {
    if (!holds) std::abort();
}

void demand_one_line(const base::error& e) {
    demand(!e.message.empty() && e.message.size() < 1000);
    for (const char c : e.message) demand(static_cast<unsigned char>(c) >= 0x20);
}

struct outcome {
    bool complete = false;
    bool failed = false;
    std::size_t used = 0;
};

outcome answer(std::string_view bytes, std::size_t piece) {
    tcp::connect_answer reader;
    outcome all;
    while (!bytes.empty() && !reader.complete()) {
        const std::string_view now = bytes.substr(0, piece);
        const auto used = reader.feed(now);
        if (!used) {
            demand_one_line(used.error());
            all.failed = true;
            return all;
        }
        demand(*used == now.size() || (reader.complete() && *used <= now.size()));
        all.used += *used;
        demand(all.used <= tcp::connect_answer::head_bytes_max);
        bytes.remove_prefix(*used);
    }
    all.complete = reader.complete();
    return all;
}

void check_answer(std::string_view bytes, std::size_t piece) {
    const outcome whole = answer(bytes, bytes.size() + 1);
    const outcome cut = answer(bytes, piece);
    demand(whole.complete == cut.complete && whole.failed == cut.failed);
    demand(whole.failed || whole.used == cut.used);
}

void check_url(std::string_view url) {
    const auto parsed = tcp::parse_proxy(url);
    if (!parsed) return demand_one_line(parsed.error());
    demand(parsed->where.port != 0 && !parsed->where.host.empty());
    const std::string request = tcp::connect_request(parsed->where, *parsed);
    demand(request.ends_with("\r\n\r\n") && request.find("\r\n\r\n") == request.size() - 4);
}

void check_no_proxy(std::string_view bytes) {
    const std::size_t line = bytes.find('\n');
    if (line == std::string_view::npos) return;
    const std::string_view host = bytes.substr(0, line);
    const std::string_view list = bytes.substr(line + 1);
    const bool direct = tcp::goes_direct(host, 443, list);
    demand(tcp::goes_direct(host, 443, std::string(list) + ",*"));
    demand(!direct || tcp::goes_direct(host, 443, "," + std::string(list)));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return 0;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 2, size - 2);
    switch (data[0] % 3) {
        case 0: check_answer(bytes, data[1] + 1U); break;
        case 1: check_url(bytes); break;
        default: check_no_proxy(bytes); break;
    }
    return 0;
}
