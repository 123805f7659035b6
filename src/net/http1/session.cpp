#include "net/http1/session.hpp"

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <utility>

#include "base/encoding.hpp"

namespace cotrain::net::http1 {

namespace http = boost::beast::http;

namespace {

constexpr int digits_max = 15;  // of a size: no overflow, and more than any limit of ours

// What may be in an extension or a trailer: no control byte but a tab, so that nothing can be hidden behind a line
// end.
bool is_text(char byte) { return byte == '\t' || (static_cast<unsigned char>(byte) >= ' ' && byte != '\x7f'); }

constexpr std::string_view line_end = "\r\n";

std::string lower(std::string_view text) {
    std::string out(text);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    return out;
}

// A line break in a value would begin a header of its own.
std::string clean(std::string_view text) {
    std::string out(text);
    std::ranges::replace_if(out, [](char c) { return c == '\r' || c == '\n' || c == '\0'; }, ' ');
    return out;
}

std::string hex(std::size_t number) {
    char digits[17];
    char* at = digits + sizeof digits;
    do {
        *--at = "0123456789abcdef"[number & 15U];
        number >>= 4U;
    } while (number != 0);
    return {at, digits + sizeof digits};
}

int status_for(const boost::system::error_code& error) {
    if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
    if (error == http::error::body_limit) return 413;
    if (error == http::error::bad_version) return 505;
    return 400;
}

// "http://host/path" is "/path": RFC 9112, 3.2.2.
std::string_view path_of(std::string_view target) {
    const auto scheme = target.find("://");
    if (target.starts_with('/') || scheme == std::string_view::npos) return target;
    const auto slash = target.find('/', scheme + 3);
    return slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
}

// Headers that we write ourselves.
bool is_ours(std::string_view name) {
    return name == "connection" || name == "content-length" || name == "transfer-encoding" || name == "keep-alive";
}

}  // namespace

chunk_reader::outcome chunk_reader::feed(std::string_view bytes, std::string& body, std::size_t body_max,
                                         std::size_t& taken) {
    taken = 0;
    while (!done_ && taken < bytes.size()) {
        if (place_ == place::data) {
            const auto part =
                bytes.substr(taken, static_cast<std::size_t>(std::min<std::uint64_t>(size_, bytes.size())));
            body.append(part);
            taken += part.size();
            size_ -= part.size();
            if (body.size() > body_max) break;
            if (size_ == 0) place_ = place::data_cr;
            continue;
        }
        if (!step(bytes[taken++])) return outcome::malformed;
        if (++overhead_ > overhead_max_) return outcome::overhead;
    }
    return done_ ? outcome::done : outcome::more;
}

bool chunk_reader::size_digit(char byte) {
    const int value = base::hex_value(byte);
    if (value < 0 || ++digits_ > digits_max) return false;
    size_ = size_ * 16 + static_cast<std::uint64_t>(value);
    return true;
}

bool chunk_reader::step(char byte) {
    const auto on = [&](char wanted, place next) { return byte == wanted ? (place_ = next, true) : false; };
    switch (place_) {
        case place::size:
            if (digits_ != 0 && on('\r', place::size_end)) return true;
            if (digits_ != 0 && (byte == ';' || byte == ' ' || byte == '\t')) return place_ = place::extension, true;
            return size_digit(byte);
        case place::extension: return on('\r', place::size_end) || is_text(byte);
        case place::size_end:
            digits_ = 0;
            if (size_ != 0) overhead_ = 0;
            return on('\n', size_ == 0 ? place::line : place::data);
        case place::data_cr: return on('\r', place::data_lf);
        case place::data_lf: return on('\n', place::size);
        case place::line:
            if (on('\r', place::end)) return true;
            place_ = place::trailer;
            return is_text(byte);
        case place::trailer: return on('\r', place::line_end) || is_text(byte);
        case place::line_end: return on('\n', place::line);
        case place::end: done_ = true; return byte == '\n';
        case place::data: break;
    }
    return false;
}

struct session::parser : http::request_parser<http::empty_body> {
    using http::request_parser<http::empty_body>::request_parser;
};

session::session(limits bounds) : bounds_(bounds) { renew(); }
session::~session() = default;

void session::renew() {
    parser_ = std::make_unique<parser>();
    parser_->header_limit(bounds_.header_bytes_max);
    parser_->body_limit(bounds_.body_bytes_max);
    chunks_.reset();
    length_ = 0;
    body_ = std::string();  // clear() would keep its memory, for as long as a refused peer lingers
    line_ended_ = false;
    receiving_ = false;
}

std::size_t session::feed(std::string_view bytes) {
    std::size_t taken = 0;
    while (!answering_ && !closing_ && taken < bytes.size()) {
        // An empty line before a request is forgiven: RFC 9112, 2.2.
        if (!receiving_ && (bytes[taken] == '\r' || bytes[taken] == '\n')) {
            ++taken;
            continue;
        }
        receiving_ = true;
        const auto rest = bytes.substr(taken);
        const std::size_t used = parser_->is_header_done() ? read_body(rest) : read_head(rest);
        taken += used;
        if (used == 0) break;  // a token that is not whole yet
    }
    return taken;
}

std::size_t session::read_head(std::string_view bytes) {
    boost::system::error_code error;
    const std::size_t used = parser_->put(boost::asio::buffer(bytes.data(), bytes.size()), error);
    if (error && error != http::error::need_more) {
        refuse(status_for(error), error.message());
    } else if (folded(bytes.substr(0, used))) {
        refuse(400, "a header goes on in the next line");
    } else if (parser_->is_header_done()) {
        begin_body();
    }
    return used;
}

// The parser would join such lines; others read them differently: RFC 9112, 5.2.
bool session::folded(std::string_view head) {
    for (const char byte : head) {
        if (line_ended_ && (byte == ' ' || byte == '\t')) return true;
        line_ended_ = byte == '\n';
    }
    return false;
}

void session::begin_body() {
    const auto& head = parser_->get();
    if (head.find(http::field::transfer_encoding) != head.end()) {
        // HTTP/1.0 knows none, so a proxy that forwarded this may see another end: RFC 9112, 6.1.
        if (head.version() < 11) return refuse(400, "there is no transfer coding in HTTP/1.0");
        // A coding that only somebody else understands would hide where the next request begins: RFC 9112, 6.1.
        if (!boost::beast::iequals(head[http::field::transfer_encoding], "chunked"))
            return refuse(501, "no other transfer coding than chunked is understood");
        chunks_.emplace(bounds_.header_bytes_max);
    } else {
        length_ = parser_->content_length().value_or(0);
        if (length_ == 0) return complete();
    }
    if (boost::beast::iequals(head[http::field::expect], "100-continue"))
        outgoing_.append("HTTP/1.1 100 Continue\r\n\r\n");
}

std::size_t session::read_body(std::string_view bytes) {
    if (!chunks_) {
        const auto part = bytes.substr(0, static_cast<std::size_t>(std::min<std::uint64_t>(length_, bytes.size())));
        body_.append(part);
        length_ -= part.size();
        if (length_ == 0) complete();
        return part.size();
    }
    std::size_t taken = 0;
    const auto got = chunks_->feed(bytes, body_, bounds_.body_bytes_max, taken);
    if (body_.size() > bounds_.body_bytes_max) {
        refuse(413, "the body is too large");
    } else if (got == chunk_reader::outcome::malformed) {
        refuse(400, "a chunk is malformed");
    } else if (got == chunk_reader::outcome::overhead) {
        refuse(431, "too much beside the chunks' data");
    } else if (got == chunk_reader::outcome::done) {
        complete();
    }
    return taken;
}

void session::complete() {
    auto message = parser_->release();
    request out;
    out.head.method = std::string(message.method_string());
    out.head.path = std::string(path_of(message.target()));
    for (const auto& field : message) {
        std::string name = lower(field.name_string());
        if (name == "host") out.head.authority = std::string(field.value());
        out.head.headers.push_back({std::move(name), std::string(field.value())});
    }
    const auto hosts = std::ranges::count(out.head.headers, "host", &header::name);
    out.body = std::move(body_);
    old_ = message.version() < 11;
    keep_ = message.keep_alive() && !leaving_;
    head_only_ = message.method() == http::verb::head;
    renew();
    if (hosts > 1 || (hosts == 0 && !old_)) return refuse(400, "one Host header is needed");
    answering_ = true;
    ready_ = std::move(out);
}

std::optional<request> session::take() { return std::exchange(ready_, std::nullopt); }

void session::refuse(int status, std::string_view why) {
    keep_ = false;
    head_only_ = false;
    answering_ = true;
    std::string text(why);
    respond(status, {{"content-type", "text/plain; charset=utf-8"}}, text.append("\n"));
    renew();
}

void session::end_of_input() {
    closing_ = true;
    keep_ = false;
    receiving_ = false;
}

void session::shutdown() {
    leaving_ = true;
    keep_ = false;
    if (!receiving_ && !answering_) closing_ = true;
}

void session::status_line(int status) {
    bodyless_ = status == 204 || status == 304;
    outgoing_.append("HTTP/1.1 ");
    outgoing_.append(std::to_string(status));
    outgoing_.append(" ");
    const auto reason = http::obsolete_reason(static_cast<http::status>(status));
    outgoing_.append({reason.data(), reason.size()});
    outgoing_.append(line_end);
}

void session::put_headers(const header_list& headers) {
    for (const header& each : headers) {
        if (is_ours(each.name)) continue;
        outgoing_.append(clean(each.name));
        outgoing_.append(": ");
        outgoing_.append(clean(each.value));
        outgoing_.append(line_end);
    }
}

void session::end_head() {
    if (!keep_) {
        outgoing_.append("connection: close\r\n");
    } else if (old_) {
        outgoing_.append("connection: keep-alive\r\n");
    }
    outgoing_.append(line_end);
}

void session::respond(int status, const header_list& headers, std::string_view body) {
    if (!answering_) return;
    status_line(status);
    put_headers(headers);
    if (!bodyless_) {
        outgoing_.append("content-length: ");
        outgoing_.append(std::to_string(body.size()));
        outgoing_.append(line_end);
    }
    end_head();
    if (!head_only_ && !bodyless_) outgoing_.append(body);
    answered();
}

void session::begin(int status, const header_list& headers) {
    if (!answering_) return;
    status_line(status);
    put_headers(headers);
    chunked_ = !old_ && !bodyless_;
    if (chunked_) outgoing_.append("transfer-encoding: chunked\r\n");
    if (old_ && !bodyless_) keep_ = false;
    end_head();
}

void session::write(std::string_view bytes) {
    if (!answering_ || head_only_ || bodyless_ || bytes.empty()) return;
    if (chunked_) {
        outgoing_.append(hex(bytes.size()));
        outgoing_.append(line_end);
    }
    outgoing_.append(bytes);
    if (chunked_) outgoing_.append(line_end);
}

void session::finish(const header_list& trailers) {
    if (!answering_) return;
    if (chunked_ && !head_only_) {
        outgoing_.append("0\r\n");
        put_headers(trailers);
        outgoing_.append(line_end);
    }
    answered();
}

void session::answered() {
    answering_ = false;
    chunked_ = false;
    if (!keep_) closing_ = true;
}

}  // namespace cotrain::net::http1
