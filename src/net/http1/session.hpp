// HTTP/1.1 for servers as a pure state machine, chunked bodies included.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/byte_queue.hpp"
#include "net/h2/session.hpp"
#include "net/http.hpp"

namespace cotrain::net::http1 {

// A chunked body as it arrives: RFC 9112, 7.1. Cut at any byte it means the same, because no byte is looked at twice.

class chunk_reader {
   public:
    // One chunk's size with its extension, or all trailers: they are of no use to us, so a peer gets no more than this.
    explicit chunk_reader(std::size_t overhead_max) : overhead_max_(overhead_max) {}

    enum class outcome : std::uint8_t { more, done, malformed, overhead };

    // Appends data to `body` and takes bytes up to the end of the body, of the input, or to where `body` has more than
    // `body_max`; the caller looks at its size.
    [[nodiscard]] outcome feed(std::string_view bytes, std::string& body, std::size_t body_max, std::size_t& taken);

   private:
    enum class place : std::uint8_t { size, extension, size_end, data, data_cr, data_lf, line, trailer, line_end, end };

    [[nodiscard]] bool step(char byte);
    [[nodiscard]] bool size_digit(char byte);

    std::size_t overhead_max_;
    std::size_t overhead_ = 0;
    std::uint64_t size_ = 0;
    int digits_ = 0;
    place place_ = place::size;
    bool done_ = false;
};

// HTTP/1.1, server side, as a state machine: bytes in, whole requests out; answers in, bytes out. No socket, no clock.

struct limits {
    std::uint32_t header_bytes_max = 32U << 10U;  // request line and all headers; more is answered with 431
    std::size_t body_bytes_max = 4U << 20U;       // more is answered with 413
};

struct request {
    h2::head head;  // `path` as in HTTP/2: what follows the authority
    std::string body;
};

// One request at a time: the next one of a pipeline is read when the present one is answered. What breaks the rules is
// answered by the session itself, and the connection is over: closing().
class session {
   public:
    explicit session(limits bounds);
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    // Takes bytes of the peer up to the end of a request and returns how many; the rest is for the next call. Takes
    // nothing while a request is unanswered or when closing.
    [[nodiscard]] std::size_t feed(std::string_view bytes);
    // A request that is complete, once.
    [[nodiscard]] std::optional<request> take();
    // The peer sends nothing more: an unfinished request is forgotten.
    void end_of_input();
    // Answers the request that is arriving, without waiting for its rest, and ends.
    void refuse(int status, std::string_view why);
    // Answers what is under way, then ends; what is only just arriving is still answered.
    void shutdown();

    // The answer, whole…
    void respond(int status, const header_list& headers, std::string_view body);
    // …or in pieces: chunked, or up to the end of the connection for a peer of HTTP/1.0.
    void begin(int status, const header_list& headers);
    void write(std::string_view bytes);
    void finish(const header_list& trailers);

    // What is to be sent; the caller consumes it.
    [[nodiscard]] base::byte_queue& outgoing() { return outgoing_; }
    // A request was handed out and is not answered in full.
    [[nodiscard]] bool answering() const { return answering_; }
    // Part of a request is here.
    [[nodiscard]] bool receiving() const { return receiving_; }
    // … of which this much is its body.
    [[nodiscard]] std::size_t body_bytes() const { return body_.size(); }
    // No further request will be taken: close when outgoing() is sent.
    [[nodiscard]] bool closing() const { return closing_ && !answering_; }

   private:
    struct parser;

    void renew();
    std::size_t read_head(std::string_view bytes);
    std::size_t read_body(std::string_view bytes);
    [[nodiscard]] bool folded(std::string_view head);
    void begin_body();
    void complete();
    void status_line(int status);
    void put_headers(const header_list& headers);
    void end_head();
    void answered();

    limits bounds_;
    std::unique_ptr<parser> parser_;  // of the head
    std::optional<chunk_reader> chunks_;
    std::uint64_t length_ = 0;  // of a body that has one, what is still to come
    std::string body_;
    std::optional<request> ready_;
    base::byte_queue outgoing_;
    bool line_ended_ = false;  // the head was read up to the end of a line
    bool receiving_ = false;
    bool answering_ = false;
    bool closing_ = false;
    bool leaving_ = false;    // shutdown() was called
    bool keep_ = true;        // the peer wants the connection to stay
    bool head_only_ = false;  // the request was HEAD
    bool bodyless_ = false;   // the status forbids a body
    bool old_ = false;        // HTTP/1.0
    bool chunked_ = false;
};

}  // namespace cotrain::net::http1
