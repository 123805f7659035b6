// Any bytes as what an HTTP/2 peer says: no crash, no hang, and every key that was handed out is closed exactly once.
// The first byte chooses the role and how the bytes are cut; the handlers' whims follow from the bytes seen so far.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <unordered_map>

#include "budget.hpp"
#include "net/h2/session.hpp"
#include "net/server.hpp"

namespace {

using namespace cotrain::net;

// Small bounds, so that short inputs reach them.
h2::limits tight() {
    h2::limits l;
    l.stream_window_bytes = 2000;
    l.connection_window_bytes = 70'000;
    l.header_list_bytes_max = 600;
    l.headers_max = 8;
    l.continuations_max = 3;
    l.streams_max = 6;
    l.urgent_reserve = 2;
    l.streams_before_settings = 3;
    l.queued_requests_max = 12;
    l.informational_max = 2;
    l.stream_id_max = 31;
    l.peer_streams_max = 4;
    l.resets_burst = 5;
    l.idle_frames_burst = 10;
    l.control_frames_queued_max = 20;
    l.response_buffer_bytes_max = 300;
    return l;
}

void demand(bool holds) {
    if (!holds) std::abort();
}

class owner final : public h2::events {
   public:
    explicit owner(h2::role as) : as_(as), session_(as, tight(), *this) {
        small_.path = "/small";
        large_.method = "PATCH";
        large_.path = "/large";
        large_.body.assign(5000, 'b');
        large_.rank = priority::write;
        large_.headers = {{"authorization", "Bearer token", true}, {"accept", "application/json"}};
        urgent_.path = "/lease";
        urgent_.rank = priority::lease;
    }

    void run(std::string_view bytes, std::size_t chunk, bool lazy) {
        for (int i = 0; i < 3; ++i) ask();
        if (!lazy) drain(1U << 20U);
        while (!bytes.empty()) {
            const std::string_view now = bytes.substr(0, chunk);
            bytes.remove_prefix(now.size());
            for (const char c : now) whim_ = whim_ * 31 + static_cast<unsigned char>(c);
            const bool over = !session_.feed(now);
            demand(over == (session_.failure() != nullptr));
            if (over) demand(open() == 0);
            act();
            if (!lazy || whim_ % 4 == 0) drain(whim_ % 2000);
            session_.tick(whim_ % 64);
        }
        drain(1U << 20U);
        demand(!session_.wants_write() || session_.failure() == nullptr);
        session_.abandon("the end");
        demand(open() == 0 && session_.streams_open() == 0 && session_.requests_queued() == 0);
        demand(session_.finished() && !session_.wants_write());
    }

   private:
    enum class phase : std::uint8_t { known, headed, ended, closed };

    std::size_t open() const {
        std::size_t n = 0;
        for (const auto& [key, at] : streams_) n += static_cast<std::size_t>(at != phase::closed);
        return n;
    }

    void drain(std::size_t bytes_max) {
        cotrain::base::byte_queue out;
        session_.drain(out, bytes_max);
        demand(out.size() <= bytes_max + 20'000);
    }

    void ask() {
        if (as_ != h2::role::client || streams_.size() > 60) return;
        const request& what = whim_ % 3 == 0 ? small_ : whim_ % 3 == 1 ? large_ : urgent_;
        const auto key = session_.submit(what, "https", "fuzz.test");
        if (key) demand(streams_.emplace(*key, phase::known).second);
    }

    void act() {
        if (streams_.empty()) return ask();
        const h2::stream_key some = std::next(streams_.begin(), whim_ % streams_.size())->first;
        switch (whim_ % 11) {
            case 0: session_.cancel(some); break;
            case 1: session_.consume(some, whim_ % 3000); break;
            case 2: session_.write(some, "more"); break;
            case 3: session_.finish(some); break;
            case 4: session_.respond(some, 200, {{"x", "y"}}, whim_ % 2 == 0); break;
            case 5: session_.ping(whim_); break;
            case 6: ask(); break;
            case 7:
                if (whim_ % 8 == 0) session_.shutdown();
                break;
            default: break;
        }
    }

    void on_head(h2::stream_key stream, h2::head head) override {
        demand(head.headers.size() <= 8);
        if (as_ == h2::role::server) {
            demand(streams_.emplace(stream, phase::headed).second);
            demand(!head.method.empty());
        } else {
            demand(streams_.at(stream) == phase::known && head.status >= 200);
            streams_[stream] = phase::headed;
        }
        act();
    }
    void on_data(h2::stream_key stream, std::string_view bytes) override {
        demand(streams_.at(stream) == phase::headed && !bytes.empty());
        if (whim_ % 2 == 0) session_.consume(stream, bytes.size());
        act();
    }
    void on_end(h2::stream_key stream, header_list trailers) override {
        demand(streams_.at(stream) == phase::headed && trailers.size() <= 8);
        streams_[stream] = phase::ended;
        if (as_ == h2::role::server && whim_ % 3 != 0) {
            session_.respond(stream, 200, {}, false);
            session_.write(stream, std::string_view("0123456789").substr(whim_ % 10));
            session_.finish(stream, whim_ % 2 == 0 ? header_list{{"t", "v"}} : header_list{});
        }
        act();
    }
    void on_close(h2::stream_key stream, h2::ending how, std::uint32_t, std::string_view) override {
        demand(streams_.at(stream) != phase::closed);
        if (how == h2::ending::complete && as_ == h2::role::client) demand(streams_.at(stream) == phase::ended);
        streams_[stream] = phase::closed;
        if (whim_ % 5 == 0) act();
    }
    void on_writable(h2::stream_key stream) override {
        demand(streams_.at(stream) != phase::closed);
        act();
    }

    h2::role as_;
    request small_, large_, urgent_;
    std::unordered_map<h2::stream_key, phase> streams_;
    std::size_t whim_ = 1;
    h2::session session_;
};

// A server's session with the bounds that servers have, whose owner keeps what it is told until a stream ends.
class keeper final : public h2::events {
   public:
    keeper() : session_(h2::role::server, server_options{}.limits, *this) {}
    void run(std::string_view bytes) {
        cotrain::base::byte_queue out;
        (void)session_.feed(bytes);
        session_.drain(out, 1U << 20U);
        session_.abandon("the end");
    }

   private:
    void on_head(h2::stream_key stream, h2::head head) override { heads_.emplace(stream, std::move(head)); }
    void on_data(h2::stream_key stream, std::string_view bytes) override { bodies_[stream].append(bytes); }
    void on_end(h2::stream_key stream, header_list) override { session_.respond(stream, 200, {}, true); }
    void on_close(h2::stream_key stream, h2::ending, std::uint32_t, std::string_view) override {
        heads_.erase(stream);
        bodies_.erase(stream);
    }

    std::unordered_map<h2::stream_key, h2::head> heads_;
    std::unordered_map<h2::stream_key, std::string> bodies_;
    h2::session session_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    cotrain::fuzz::at_two_sizes({reinterpret_cast<const char*>(data) + 1, size - 1}, [](std::string_view bytes) {
        cotrain::fuzz::within_budget("HTTP/2", bytes.size(), [&] { keeper().run(bytes); });
    });
    constexpr std::size_t chunks[] = {1U << 20U, 1, 7, 100};
    owner each((data[0] & 1U) != 0 ? h2::role::server : h2::role::client);
    each.run({reinterpret_cast<const char*>(data) + 1, size - 1}, chunks[data[0] >> 1U & 3U], (data[0] & 8U) != 0);
    return 0;
}
