// One connection of a server: its session, the requests that are being read and those that are being answered.
#pragma once

#include <boost/unordered/unordered_flat_map.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/h2/session.hpp"
#include "net/liveness.hpp"
#include "net/server_link.hpp"
#include "net/transport.hpp"

namespace cotrain::net {

class serving final : public server_link, public h2::events, public std::enable_shared_from_this<serving> {
   public:
    serving(transport wire, const source& from, const server_options& options, const request_handler& handler,
            server_counters& counters, base::task_group& tasks);

    [[nodiscard]] awaitable<void> read_loop() override;
    [[nodiscard]] awaitable<void> write_loop() override;
    void shutdown() override;
    void close() override;
    void tick(time_point now) override;
    [[nodiscard]] bool closed() const override { return closed_; }
    [[nodiscard]] std::optional<time_point> waiting_since() const override;
    void give_up(incoming::state& request) override;

    void respond(h2::stream_key stream, int status, const header_list& headers, std::string_view body) override;
    void begin(h2::stream_key stream, int status, const header_list& headers) override;
    bool write(h2::stream_key stream, std::string_view bytes) override;
    void finish(h2::stream_key stream, const header_list& trailers) override;

   private:
    void on_head(h2::stream_key stream, h2::head head) override;
    void on_data(h2::stream_key stream, std::string_view bytes) override;
    void on_end(h2::stream_key stream, header_list trailers) override;
    void on_close(h2::stream_key stream, h2::ending how, std::uint32_t code, std::string_view detail) override;
    void on_writable(h2::stream_key stream) override;
    // Hands over what is complete, some of it now and the rest when others had their turn.
    void start_handlers();
    void cancel_dawdlers(time_point now);
    void leave();
    void refuse(incoming::state& request, int status);
    void mark_answered(h2::stream_key stream);
    [[nodiscard]] bool dawdles(const incoming::state& request, time_point now) const;
    void kick() { work_.notify_later(); }
    [[nodiscard]] awaitable<void> answer(std::shared_ptr<incoming::state> request);

    transport wire_;
    source from_;
    const server_options& options_;
    const request_handler& handler_;
    server_counters& counters_;
    base::task_group& tasks_;
    h2::session session_;
    base::byte_queue received_{transport::lean.read_retain_bytes};
    base::byte_queue outgoing_{transport::lean.write_retain_bytes};
    boost::unordered_flat_map<std::uint64_t, std::shared_ptr<incoming::state>> streams_;
    std::deque<std::shared_ptr<incoming::state>> complete_;  // read, and not yet handed to the handler
    bool handing_on_ = false;                                // the rest of them is due
    base::signal work_;
    time_point busy_{};                          // when a stream was last open
    bool leaving_ = false;                       // closes when the last stream ends …
    time_point leaving_since_{};                 // … or when the grace is over
    std::optional<time_point> writing_since_;    // the peer takes its time
    std::optional<time_point> lingering_since_;  // our half is closed
    bool broken_ = false;                        // by the peer: what it sends now is thrown away
    bool closed_ = false;
};

}  // namespace cotrain::net
