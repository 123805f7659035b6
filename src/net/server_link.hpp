// A connection of a server as the server and its requests see it, whatever protocol it speaks.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/asio.hpp"
#include "base/signal.hpp"
#include "net/h2/session.hpp"
#include "net/liveness.hpp"
#include "net/server.hpp"

namespace cotrain::net {

class server_link {
   public:
    virtual ~server_link() = default;

    // Both run until the connection is over.
    [[nodiscard]] virtual awaitable<void> read_loop() = 0;
    [[nodiscard]] virtual awaitable<void> write_loop() = 0;
    // Answers what has come, takes nothing new, closes then.
    virtual void shutdown() = 0;
    virtual void close() = 0;
    // Closes what idles or dawdles.
    virtual void tick(time_point now) = 0;
    [[nodiscard]] virtual bool closed() const = 0;
    // Since when no request is being answered; nothing while one is.
    [[nodiscard]] virtual std::optional<time_point> idle_since() const = 0;

    // Answers, see incoming.
    virtual void respond(h2::stream_key stream, int status, const header_list& headers, std::string_view body) = 0;
    virtual void begin(h2::stream_key stream, int status, const header_list& headers) = 0;
    // False: wait until the request's `writable` is notified.
    virtual bool write(h2::stream_key stream, std::string_view bytes) = 0;
    virtual void finish(h2::stream_key stream, const header_list& trailers) = 0;
};

// One request's share of all bodies that a server holds at once.
class body_account {
   public:
    explicit body_account(server_counters& total) : total_(&total) {}
    body_account(const body_account&) = delete;
    body_account& operator=(const body_account&) = delete;
    ~body_account() { set(0); }

    void set(std::size_t bytes) {
        total_->body_bytes += bytes - bytes_;
        bytes_ = bytes;
    }

   private:
    server_counters* total_;
    std::size_t bytes_ = 0;
};

struct incoming::state {
    explicit state(server_counters& total) : account(total) {}

    server_link* on = nullptr;  // null when the peer is gone
    h2::stream_key stream{};
    h2::head head;
    std::string body;
    body_account account;
    time_point since{};
    std::optional<time_point> answered;  // in full; the peer may not have taken it yet
    bool refused = false;                // answered already: the rest of its body is thrown away
    bool handed = false;                 // the handler has it
    base::signal writable;
    base::signal left;

    // The connection forgets the request, and says so to whoever waits for it.
    void leave() {
        on = nullptr;
        if (writable.waiting()) writable.notify_later();
        left.notify_later();
    }
};

}  // namespace cotrain::net
