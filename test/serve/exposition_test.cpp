// Metrics as text in both formats, and the answer to a scrape.
#include "serve/exposition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/beast/zlib/inflate_stream.hpp>
#include <limits>
#include <string>

namespace cotrain::serve {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string write_all(text_format format) {
    exposition e(format);
    e.family("a_total", metric_type::counter, "Adds\nup \\ \"so\".");
    e.sample({{"x", "q\"\\\n"}}, 3);
    e.sample({}, 0);
    e.single("g", metric_type::gauge, "A gauge.", -0.5);
    histogram h(default_bounds);
    for (const double value : {0.004, 0.005, 0.3, 99.0}) h.observe(value);
    e.family("h_seconds", metric_type::histogram, "Times.");
    h.write(e, {{"k", "v"}});
    return e.finish();
}

TEST(exposition, prometheus_text) {
    const std::string text = write_all(text_format::prometheus);
    EXPECT_THAT(text,
                StartsWith("# HELP a_total Adds\\nup \\\\ \"so\".\n# TYPE a_total counter\n"
                           "a_total{x=\"q\\\"\\\\\\n\"} 3\na_total 0\n# HELP g A gauge.\n# TYPE g gauge\ng -0.5\n"));
    EXPECT_THAT(text, HasSubstr("h_seconds_bucket{k=\"v\",le=\"0.005\"} 2\nh_seconds_bucket{k=\"v\",le=\"0.01\"} 2\n"));
    EXPECT_THAT(text, HasSubstr("h_seconds_bucket{k=\"v\",le=\"1\"} 3\n"));
    EXPECT_THAT(text, EndsWith("h_seconds_bucket{k=\"v\",le=\"+Inf\"} 4\nh_seconds_sum{k=\"v\"} 99.309\n"
                               "h_seconds_count{k=\"v\"} 4\n"));
}

TEST(exposition, openmetrics_text) {
    const std::string text = write_all(text_format::openmetrics);
    EXPECT_THAT(text, StartsWith("# HELP a Adds\\nup \\\\ \\\"so\\\".\n# TYPE a counter\na_total{x="));
    EXPECT_THAT(text, HasSubstr("le=\"1.0\"} 3\n"));
    EXPECT_THAT(text, EndsWith("\n# EOF\n"));
}

TEST(exposition, summaries_have_sum_and_count) {
    exposition e(text_format::prometheus);
    e.family("w_seconds", metric_type::summary, "Waits.");
    e.summary({}, 1.5, 3);
    EXPECT_THAT(e.finish(), EndsWith("# TYPE w_seconds summary\nw_seconds_sum 1.5\nw_seconds_count 3\n"));
}

TEST(exposition, numbers_that_are_none) {
    exposition e(text_format::prometheus);
    e.family("x", metric_type::gauge, "x");
    e.sample({}, std::numeric_limits<double>::infinity());
    e.sample({}, std::numeric_limits<double>::quiet_NaN());
    EXPECT_THAT(e.finish(), EndsWith("x +Inf\nx NaN\n"));
}

std::string inflate(const std::string& gz) {
    boost::beast::zlib::inflate_stream s;
    std::string out(1 << 20, '\0');
    boost::beast::zlib::z_params p;
    p.next_in = gz.data() + 10;
    p.avail_in = gz.size() - 18;
    p.next_out = out.data();
    p.avail_out = out.size();
    boost::system::error_code error;
    s.write(p, boost::beast::zlib::Flush::sync, error);
    out.resize(p.total_out);
    return out;
}

TEST(gzip, what_is_squeezed_comes_out_again) {
    for (const std::string& text : {std::string(), std::string("a"), std::string(100'000, 'x'), write_all({})}) {
        const std::string gz = gzip(text);
        EXPECT_EQ(gz.substr(0, 3), "\x1f\x8b\x08");
        EXPECT_EQ(inflate(gz), text);
        const auto* tail = reinterpret_cast<const unsigned char*>(gz.data() + gz.size() - 4);
        EXPECT_EQ(tail[0] | tail[1] << 8 | tail[2] << 16, static_cast<int>(text.size()));
    }
    // The check sum of RFC 1952's usual example.
    EXPECT_EQ(gzip("123456789").substr(gzip("123456789").size() - 8, 4), "\x26\x39\xf4\xcb");
}

net::h2::head asking(net::header_list headers, std::string method = "GET") {
    return {.method = std::move(method), .path = "/metrics", .headers = std::move(headers)};
}

TEST(scrape, form_follows_what_is_accepted) {
    const std::vector<metrics_source> sources{[](exposition& e) { e.single("g", metric_type::gauge, "G.", 1); }};
    const reply plain = scrape(sources, asking({}));
    EXPECT_EQ(plain.content_type, "text/plain; version=0.0.4; charset=utf-8");
    EXPECT_EQ(plain.body, "# HELP g G.\n# TYPE g gauge\ng 1\n");
    const reply open = scrape(
        sources, asking({{"accept", "application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.3"},
                         {"accept-encoding", "br, gzip"}}));
    EXPECT_THAT(open.content_type, StartsWith("application/openmetrics-text; version=1.0.0"));
    EXPECT_EQ(net::find_header(open.headers, "content-encoding"), "gzip");
    EXPECT_THAT(inflate(open.body), EndsWith("g 1\n# EOF\n"));
    const reply refused = scrape(sources, asking({{"accept-encoding", "gzip;q=0"}}));
    EXPECT_EQ(net::find_header(refused.headers, "content-encoding"), "");
    EXPECT_EQ(scrape(sources, asking({}, "POST")).status, 405);
}

TEST(process_metrics, say_something_of_this_process) {
    exposition e(text_format::prometheus);
    write_process_metrics(e);
    const std::string text = e.finish();
    for (const char* name : {"process_resident_memory_bytes ", "process_virtual_memory_bytes ", "process_open_fds ",
                             "process_start_time_seconds "}) {
        const auto at = text.rfind(name);
        ASSERT_NE(at, std::string::npos) << name;
        EXPECT_GT(std::stod(text.substr(at + std::string_view(name).size())), 0) << name;
    }
    EXPECT_GT(std::stod(text.substr(text.rfind("process_start_time_seconds ") + 27)), 1.6e9);
}

}  // namespace
}  // namespace cotrain::serve
