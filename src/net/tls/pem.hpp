// PEM text into certificates and keys.
#pragma once

#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "net/tls/handles.hpp"

namespace cotrain::net::tls {

inline constexpr std::size_t pem_bytes_max = 8U << 20U;
inline constexpr std::size_t certificates_max = 2000;  // in one text; a system's bundle has about 150

// All certificates of `pem`, at least one; other PEM blocks are passed over. `what` begins the error message.
[[nodiscard]] base::result<std::vector<certificate_ptr>> read_certificates(std::string_view pem, std::string_view what);
// The first private key of `pem`: PKCS#8, SEC1 or PKCS#1, not encrypted. No message ever quotes it.
[[nodiscard]] base::result<key_ptr> read_key(std::string_view pem, std::string_view what);

}  // namespace cotrain::net::tls
