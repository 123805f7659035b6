// Subjects, alternative names and dates of certificates as text that is safe to show.
#include "net/tls/describe.hpp"

#include <fmt/format.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <ctime>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "net/tls/handles.hpp"

namespace cotrain::net::tls {
namespace {

constexpr std::size_t name_bytes_max = 200;

std::string_view bytes_of(const ASN1_STRING* text) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
            static_cast<std::size_t>(ASN1_STRING_length(text))};
}

std::string address_text(std::string_view bytes) {
    if (bytes.size() == 4) {
        boost::asio::ip::address_v4::bytes_type v4;
        std::ranges::copy(bytes, v4.begin());
        return boost::asio::ip::address_v4(v4).to_string();
    }
    if (bytes.size() == 16) {
        boost::asio::ip::address_v6::bytes_type v6;
        std::ranges::copy(bytes, v6.begin());
        return boost::asio::ip::address_v6(v6).to_string();
    }
    return "a malformed address";
}

}  // namespace

std::string to_text(const X509_NAME* name) {
    const bio_ptr out(BIO_new(BIO_s_mem()));
    const unsigned long flags = XN_FLAG_RFC2253 & ~static_cast<unsigned long>(ASN1_STRFLGS_ESC_MSB);
    if (!out || X509_NAME_print_ex(out.get(), name, 0, flags) < 0) return "an unreadable name";
    char* text = nullptr;
    const long size = BIO_get_mem_data(out.get(), &text);
    if (size <= 0) return "(no subject)";
    return base::one_line({text, static_cast<std::size_t>(size)}, name_bytes_max);
}

std::string to_text(const ASN1_TIME* time) {
    std::tm t{};
    if (ASN1_TIME_to_tm(time, &t) != 1) return "an unreadable time";
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02} UTC", t.tm_year + 1900, t.tm_mon + 1, t.tm_mday, t.tm_hour,
                       t.tm_min, t.tm_sec);
}

std::string names_of(const X509& certificate) {
    const std::unique_ptr<GENERAL_NAMES, release<GENERAL_NAMES_free>> list(
        static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
    std::vector<std::string> shown;
    int names = 0;
    for (int i = 0; list && i < sk_GENERAL_NAME_num(list.get()); ++i) {
        const GENERAL_NAME* name = sk_GENERAL_NAME_value(list.get(), i);
        if (name->type != GEN_DNS && name->type != GEN_IPADD) continue;
        if (++names > names_shown_max) continue;
        shown.push_back(name->type == GEN_DNS ? base::one_line(bytes_of(name->d.dNSName), name_bytes_max)
                                              : address_text(bytes_of(name->d.iPAddress)));
    }
    std::string text = fmt::format("{}", fmt::join(shown, ", "));
    if (names > names_shown_max) text += fmt::format(" and {} more", names - names_shown_max);
    return text;
}

}  // namespace cotrain::net::tls
