// Our own certificates: what is good, how little is renewed, and what a TLS peer and the API's objects make of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/encoding.hpp"
#include "certs/certificate_set.hpp"
#include "certs/files.hpp"
#include "doc/json.hpp"
#include "net/tls/context.hpp"
#include "net/tls/engine.hpp"
#include "support/certificates.hpp"

namespace cotrain::certs {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

const certificate_names names{.hosts = {"svc.ns.svc", "svc.ns.svc.cluster.local"}, .addresses = {"127.0.0.1"}};

wall_time now() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

certificate_set fresh() {
    auto made = renew({}, standing::renew_all, names, now());
    EXPECT_TRUE(made) << (made ? "" : made.error().message);
    return made ? *made : certificate_set{};
}

// The handshake's outcome: empty, or the client's error.
std::string shake(const std::string& trusted, const certificate_set& served, const std::string& host) {
    const auto ours = net::tls::context::for_server({.certificate_pem = served.tls_crt, .key_pem = served.tls_key});
    const auto theirs = net::tls::context::for_client({.ca_pem = trusted});
    if (!ours || !theirs) return "no context";
    net::tls::engine server(*ours);
    net::tls::engine client(*theirs, host);
    for (int i = 0; i < 10; ++i) {
        const auto done = client.handshake();
        if (!done) return done.error().message;
        const std::string to_server(client.outgoing().view());
        client.outgoing().clear();
        EXPECT_TRUE(server.feed(to_server));
        static_cast<void>(server.handshake());
        if (*done) return {};
        const std::string to_client(server.outgoing().view());
        server.outgoing().clear();
        EXPECT_TRUE(client.feed(to_client));
        if (const auto fed = client.handshake(); !fed) return fed.error().message;
    }
    return "no end";
}

TEST(certificates, a_new_set_is_good_and_a_client_believes_it) {
    const certificate_set set = fresh();
    const judgement verdict = judge(set, names, now());
    EXPECT_EQ(verdict.what, standing::good) << verdict.why;
    EXPECT_EQ(shake(set.ca_crt, set, "svc.ns.svc"), "");
    EXPECT_EQ(shake(set.ca_crt, set, "svc.ns.svc.cluster.local"), "");
    EXPECT_EQ(shake(set.ca_crt, set, "127.0.0.1"), "");
    EXPECT_THAT(shake(set.ca_crt, set, "other.ns.svc"), HasSubstr("other.ns.svc"));
    EXPECT_NE(shake(fresh().ca_crt, set, "svc.ns.svc"), "");
    EXPECT_THAT(set.ca_key, StartsWith("-----BEGIN RSA PRIVATE KEY-----"));
    const auto left = verdict.renew_at - now();
    EXPECT_GT(left, serving_days - renew_days - std::chrono::hours(1));
    EXPECT_LE(left, serving_days - renew_days);
}

TEST(certificates, the_serving_certificate_is_renewed_alone_and_in_time) {
    const certificate_set set = fresh();
    EXPECT_EQ(judge(set, names, now() + serving_days - renew_days - std::chrono::hours(1)).what, standing::good);
    const auto later = now() + serving_days - renew_days + std::chrono::hours(1);
    const judgement verdict = judge(set, names, later);
    EXPECT_EQ(verdict.what, standing::renew_serving);
    EXPECT_EQ(verdict.why, "the serving certificate expires soon");
    const auto next = renew(set, verdict.what, names, later);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->ca_crt, set.ca_crt);
    EXPECT_EQ(next->ca_key, set.ca_key);
    EXPECT_NE(next->tls_crt, set.tls_crt);
    EXPECT_EQ(judge(*next, names, later).what, standing::good);
}

TEST(certificates, a_new_authority_keeps_the_old_one_trusted) {
    const certificate_set set = fresh();
    const auto later = now() + authority_days - renew_days + std::chrono::hours(1);
    const judgement verdict = judge(set, names, later);
    EXPECT_EQ(verdict.what, standing::renew_all);
    // As if today, so that the handshakes below are in the validity of all.
    const auto next = renew(set, verdict.what, names, now());
    ASSERT_TRUE(next);
    EXPECT_EQ(judge(*next, names, now()).what, standing::good);
    EXPECT_EQ(shake(next->ca_crt, *next, "svc.ns.svc"), "");
    EXPECT_EQ(shake(next->ca_crt, set, "svc.ns.svc"), "") << "a replica that still serves the old certificate";
    EXPECT_NE(shake(set.ca_crt, *next, "svc.ns.svc"), "") << "the new authority must be told before it is used";
    const auto third = renew(*next, standing::renew_all, names, now());
    ASSERT_TRUE(third);
    EXPECT_NE(shake(third->ca_crt, set, "svc.ns.svc"), "") << "one old authority is carried along, not all";
}

TEST(certificates, damage_is_noticed) {
    const certificate_set good = fresh();
    const certificate_set other = fresh();
    EXPECT_EQ(judge({}, names, now()).why, "there are none");
    const auto verdict = [](certificate_set set, std::string certificate_set::* part, std::string text) {
        set.*part = std::move(text);
        const judgement j = judge(set, names, now());
        return std::pair(j.what, j.why);
    };
    using set = certificate_set;
    EXPECT_EQ(verdict(good, &set::ca_crt, "").first, standing::renew_all);
    EXPECT_EQ(verdict(good, &set::ca_crt, "nonsense").first, standing::renew_all);
    EXPECT_EQ(verdict(good, &set::ca_crt, other.ca_crt).second, "ca.key does not belong to ca.crt");
    EXPECT_EQ(verdict(good, &set::ca_crt, good.tls_crt).second, "ca.crt is no authority");
    EXPECT_EQ(verdict(good, &set::ca_key, "").first, standing::renew_all);
    EXPECT_EQ(verdict(good, &set::tls_crt, "").first, standing::renew_serving);
    EXPECT_EQ(verdict(good, &set::tls_key, other.tls_key).second, "tls.key does not belong to tls.crt");
    certificate_set mixed = good;
    mixed.tls_crt = other.tls_crt;
    mixed.tls_key = other.tls_key;
    EXPECT_EQ(judge(mixed, names, now()).why, "tls.crt is not signed by ca.crt");
    EXPECT_EQ(judge(good, {.hosts = {"else.ns.svc"}}, now()).why, "tls.crt is not for else.ns.svc");
    EXPECT_EQ(judge(good, {.hosts = {"svc.ns.svc"}, .addresses = {"10.0.0.1"}}, now()).why,
              "tls.crt is not for 10.0.0.1");
    EXPECT_EQ(judge(good, names, now() - std::chrono::hours(24)).what, standing::renew_all);
}

TEST(certificates, a_set_with_a_certificate_by_others_is_taken) {
    // As the ecosystem's controllers make them: RSA keys for both.
    const test::authority theirs("kubeflow-trainer-ca");
    EXPECT_EQ(judge({.ca_crt = theirs.pem()}, names, now()).what, standing::renew_all);
}

TEST(certificate_objects, the_secret_keeps_what_is_not_ours) {
    const certificate_set set = fresh();
    const auto created = write_secret("", "ns", "cert", set);
    ASSERT_TRUE(created);
    EXPECT_EQ(*read_secret(*created), set);
    EXPECT_THAT(*created,
                StartsWith(R"({"apiVersion":"v1","kind":"Secret","metadata":{"name":"cert","namespace":"ns"})"));
    const auto updated =
        write_secret(R"({"kind":"Secret","metadata":{"resourceVersion":"7","labels":{"a":"b"},"managedFields":[]},)"
                     R"("data":{"extra":"eA==","ca.crt":"!"},"type":"x"})",
                     "ns", "cert", set);
    ASSERT_TRUE(updated);
    EXPECT_EQ(*read_secret(*updated), set);
    EXPECT_THAT(*updated, HasSubstr(R"("resourceVersion":"7","labels":{"a":"b"}})"));
    EXPECT_THAT(*updated, HasSubstr(R"("extra":"eA==")"));
    EXPECT_EQ(*read_secret("{}"), certificate_set{});
    EXPECT_FALSE(read_secret("nonsense"));
    EXPECT_FALSE(write_secret("[]", "ns", "cert", set));
}

TEST(certificate_objects, the_authority_goes_into_every_webhook_and_nowhere_else) {
    const std::string body = R"({"metadata":{"resourceVersion":"1","managedFields":[1]},"webhooks":[)"
                             R"({"name":"a","clientConfig":{"service":{"name":"s"}},"failurePolicy":"Fail"},)"
                             R"({"name":"b","clientConfig":{"url":"https://x","caBundle":"b2xk"}}]})";
    const auto edited = inject_authority(body, "PEM");
    ASSERT_TRUE(edited && *edited);
    EXPECT_EQ(**edited,
              R"({"metadata":{"resourceVersion":"1"},"webhooks":[)"
              R"({"name":"a","clientConfig":{"service":{"name":"s"},"caBundle":"UEVN"},"failurePolicy":"Fail"},)"
              R"({"name":"b","clientConfig":{"url":"https://x","caBundle":"UEVN"}}]})");
    const auto again = inject_authority(**edited, "PEM");
    ASSERT_TRUE(again);
    EXPECT_FALSE(*again) << "nothing to do";
    EXPECT_FALSE(*inject_authority("{}", "PEM"));
    EXPECT_FALSE(inject_authority("nonsense", "PEM"));
}

TEST(served_certificate, what_cannot_be_used_changes_nothing) {
    served_certificate serving({});
    EXPECT_FALSE(serving.ready());
    const certificate_set set = fresh();
    ASSERT_TRUE(serving.use(set.tls_crt, set.tls_key));
    const auto before = serving.context();
    ASSERT_TRUE(before);
    EXPECT_FALSE(serving.use(set.tls_crt, fresh().tls_key));
    EXPECT_EQ(serving.context(), before);
    ASSERT_TRUE(serving.use(set.tls_crt, set.tls_key));
    EXPECT_EQ(serving.context(), before) << "the same texts need no new context";
    EXPECT_EQ(serving.reads(), 3U);
    EXPECT_EQ(serving.failures(), 1U);
    const certificate_set next = fresh();
    ASSERT_TRUE(serving.use(next.tls_crt, next.tls_key));
    EXPECT_NE(serving.context(), before);
}

}  // namespace
}  // namespace cotrain::certs
