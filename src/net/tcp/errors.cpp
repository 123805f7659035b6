// The only place that knows the codes of sockets and name look-ups.
#include "net/tcp/errors.hpp"

#include <boost/asio/error.hpp>

namespace cotrain::net::tcp {

namespace error = boost::asio::error;

std::string reason(const boost::system::error_code& code) {
    if (code == error::host_not_found) return "no such host";
    if (code == error::host_not_found_try_again) return "name servers give no answer";
    if (code == error::no_data) return "the name has no address";
    if (code == error::no_recovery) return "the name cannot be looked up";
    if (code == error::no_descriptors) return "too many open files";
    if (code == error::timed_out) return "no answer";
    if (code == error::eof) return "connection closed by peer";
    std::string text = code.message();
    if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' && text[1] >= 'a')
        text[0] = static_cast<char>(text[0] + 32);
    return text;
}

}  // namespace cotrain::net::tcp
