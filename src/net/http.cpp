// Looking things up in header lists.
#include "net/http.hpp"

namespace cotrain::net {

std::string_view find_header(const header_list& headers, std::string_view name) {
    for (const header& h : headers)
        if (h.name == name) return h.value;
    return {};
}

}  // namespace cotrain::net
