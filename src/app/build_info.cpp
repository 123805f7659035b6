#include "app/build_info.hpp"

#include <fmt/core.h>
#include <nghttp2/nghttp2ver.h>
#include <openssl/opensslv.h>

#include <array>
#include <boost/version.hpp>

#define COTRAIN_TEXT_OF(x) #x
#define COTRAIN_TEXT(x) COTRAIN_TEXT_OF(x)

namespace cotrain::app {

std::string_view version() { return COTRAIN_VERSION; }
std::string_view commit() { return COTRAIN_COMMIT; }

std::string_view compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

std::span<const built_with> libraries() {
    // Boost's and fmt's are numbers: 108100 is 1.81.0, 90100 is 9.1.0.
    static constexpr std::array all{
        built_with{"boost", COTRAIN_TEXT(BOOST_VERSION)}, built_with{"fmt", COTRAIN_TEXT(FMT_VERSION)},
        built_with{"nghttp2", NGHTTP2_VERSION}, built_with{"openssl", OPENSSL_FULL_VERSION_STR}};
    return all;
}

}  // namespace cotrain::app
