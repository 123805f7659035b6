// Content negotiation of a scrape.
#include "serve/scrape.hpp"

#include "serve/gzip.hpp"

namespace cotrain::serve {

reply scrape(const std::vector<metrics_source>& sources, const net::h2::head& head) {
    if (!only_reads(head)) return method_not_allowed("GET, HEAD");
    const auto wanted = net::find_header(head.headers, "accept");
    const auto format =
        accepts(wanted, "application/openmetrics-text") ? text_format::openmetrics : text_format::prometheus;
    exposition text(format);
    for (const metrics_source& each : sources) each(text);
    reply out{.content_type = std::string(content_type(format)), .body = text.finish()};
    out.headers = {{"vary", "accept, accept-encoding"}};
    if (accepts(net::find_header(head.headers, "accept-encoding"), "gzip")) {
        out.body = gzip(out.body);
        out.headers.push_back({"content-encoding", "gzip"});
    }
    return out;
}

}  // namespace cotrain::serve
