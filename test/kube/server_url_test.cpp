// Server addresses as people write them.
#include <gtest/gtest.h>

#include "kube/config.hpp"

namespace cotrain::kube {
namespace {

struct good_url {
    const char* text;
    bool tls;
    server_url parts;
};

TEST(parse_server_url, takes_urls_apart) {
    const good_url cases[] = {
        {"https://1.2.3.4:6443", false, {"https", "1.2.3.4", 6443, ""}},
        {"https://api.example.com", false, {"https", "api.example.com", 443, ""}},
        {"https://api.example.com/", false, {"https", "api.example.com", 443, ""}},
        {"http://localhost:8001", true, {"http", "localhost", 8001, ""}},
        {"http://localhost", true, {"http", "localhost", 80, ""}},
        {"https://[::1]:6443", false, {"https", "::1", 6443, ""}},
        {"https://[fe80::1]", false, {"https", "fe80::1", 443, ""}},
        {"https://rancher.example/k8s/clusters/c-1/", false, {"https", "rancher.example", 443, "/k8s/clusters/c-1"}},
        {"1.2.3.4:6443", true, {"https", "1.2.3.4", 6443, ""}},
        {"localhost:8080", false, {"http", "localhost", 8080, ""}},
    };
    for (const good_url& c : cases) {
        const auto url = parse_server_url(c.text, c.tls);
        ASSERT_TRUE(url) << c.text << ": " << url.error().message;
        EXPECT_EQ(url->scheme, c.parts.scheme) << c.text;
        EXPECT_EQ(url->host, c.parts.host) << c.text;
        EXPECT_EQ(url->port, c.parts.port) << c.text;
        EXPECT_EQ(url->base_path, c.parts.base_path) << c.text;
    }
}

TEST(parse_server_url, says_what_is_wrong) {
    const std::pair<const char*, const char*> cases[] = {
        {"ftp://x", "neither https nor http"},
        {"://x", "neither https nor http"},
        {"https://", "no host"},
        {"https://:6443", "no host"},
        {"https:///path", "no host"},
        {"https://x:0", "port"},
        {"https://x:65536", "port"},
        {"https://x:64a", "port"},
        {"https://x:", "form"},
        {"https://::1", "without brackets"},
        {"https://[::1", "form"},
        {"https://[::1]x", "form"},
        {"https://[]:1", "form"},
        {"https://x y", "space"},
        {"https://x\n", "space"},
        {"https://user:secret@x", "under users"},
        {"https://x/?a", "query"},
        {"https://x#a", "query"},
        {"https://x;y", "no name or address"},
    };
    for (const auto& [text, part] : cases) {
        const auto url = parse_server_url(text, true);
        ASSERT_FALSE(url) << text;
        EXPECT_NE(url.error().message.find(part), std::string::npos) << text << ": " << url.error().message;
        EXPECT_EQ(url.error().message.find('\n'), std::string::npos);
    }
}

}  // namespace
}  // namespace cotrain::kube
