// Boost.Beast deflates; the frame around it is written here.
#include "serve/gzip.hpp"

#include <boost/beast/zlib/deflate_stream.hpp>
#include <boost/crc.hpp>
#include <cstdint>

namespace cotrain::serve {

namespace zlib = boost::beast::zlib;

namespace {

void append_le32(std::string& out, std::uint32_t number) {
    for (int shift = 0; shift < 32; shift += 8) out += static_cast<char>(number >> shift & 0xFFU);
}

}  // namespace

std::string gzip(std::string_view text) {
    // Magic, deflate, no flags, no time, no hint, unknown system.
    std::string out("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff", 10);
    const std::size_t head = out.size();
    zlib::deflate_stream deflate;
    deflate.reset(6, 15, 8, zlib::Strategy::normal);
    out.resize(head + deflate.upper_bound(text.size()));
    zlib::z_params with;
    with.next_in = text.data();
    with.avail_in = text.size();
    with.next_out = out.data() + head;
    with.avail_out = out.size() - head;
    boost::system::error_code ended;  // end_of_stream: the bound is enough for one call
    deflate.write(with, zlib::Flush::finish, ended);
    out.resize(head + with.total_out);
    boost::crc_32_type crc;
    crc.process_bytes(text.data(), text.size());
    append_le32(out, crc.checksum());
    append_le32(out, static_cast<std::uint32_t>(text.size()));
    return out;
}

}  // namespace cotrain::serve
