// The system's and Asio's error codes in words.
#pragma once

#include <boost/system/error_code.hpp>
#include <string>

namespace cotrain::net::tcp {

[[nodiscard]] std::string reason(const boost::system::error_code& code);

}  // namespace cotrain::net::tcp
