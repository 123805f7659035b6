// One HTTP/1.1 connection of a server: its session, and the one request that is being answered.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/byte_queue.hpp"
#include "base/signal.hpp"
#include "base/task_group.hpp"
#include "net/http1/session.hpp"
#include "net/serving.hpp"
#include "net/transport.hpp"

namespace cotrain::net::http1 {

class serving final : public server_link, public std::enable_shared_from_this<serving>, memory_account::holder {
   public:
    // Bytes of further requests that are taken from the peer while one is being answered.
    static constexpr std::size_t pipeline_bytes_max = 16U << 10U;
    // Bytes of answers that wait for the peer before no further request of it is looked at.
    static constexpr std::size_t unsent_bytes_max = 64U << 10U;
    // Bytes of an answer that wait for the peer before its writer has to wait, too.
    static constexpr std::size_t response_buffer_bytes_max = 1U << 20U;

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
    // The request that is being read has to go.
    void end_for_memory() override;
    // Feeds the session with what has come, and hands over the requests that are complete: some of them now, the rest
    // when others had their turn.
    void advance();
    void advance_later();
    // Before the session is fed with what has come.
    [[nodiscard]] bool claim_arriving();
    // The peer does not take what it asks for.
    [[nodiscard]] bool clogged() { return outgoing_.size() + session_.outgoing().size() > unsent_bytes_max; }
    // After anything that may have ended the answer under way.
    void settle();
    void hand_over(request what);
    void refuse(int status, std::string_view why);
    void kick() { work_.notify_later(); }
    [[nodiscard]] bool is_current(h2::stream_key stream) const { return current_ && current_->stream == stream; }
    [[nodiscard]] awaitable<void> answer(std::shared_ptr<incoming::state> request);

    transport wire_;
    source from_;
    const server_options& options_;
    const request_handler& handler_;
    server_counters& counters_;
    base::task_group& tasks_;
    session session_;
    base::byte_queue received_{transport::lean.read_retain_bytes};
    base::byte_queue outgoing_{transport::lean.write_retain_bytes};
    memory_account::claim arriving_;            // of the request that is being read
    std::shared_ptr<incoming::state> current_;  // the request that is being answered
    std::uint64_t requests_ = 0;
    base::signal work_;  // for the writer
    base::signal room_;  // for the reader, which waits for an answer to be complete
    time_point since_;   // when the peer began to be silent, or to send the present request
    bool was_receiving_ = false;
    std::optional<time_point> writing_since_;    // the peer takes its time
    std::optional<time_point> lingering_since_;  // our half is closed
    bool ended_ = false;                         // the peer's half is closed
    bool advancing_ = false;
    unsigned handed_ = 0;    // in this turn
    bool going_on_ = false;  // in the next one
    bool closed_ = false;
};

}  // namespace cotrain::net::http1
