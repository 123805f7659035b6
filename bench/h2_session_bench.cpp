// Goal 13 without a socket: a 2 KiB PATCH over a client and a server session in memory, 90 streams in flight.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "net/h2/session.hpp"

namespace {

using namespace cotrain::net;

constexpr std::size_t write_bytes = 256U << 10U;         // as the connection's writer asks for
constexpr std::size_t retained_bytes = 2 * write_bytes;  // so that growing the queues is not what is measured

request apply_request(bool token) {
    request what;
    what.method = "PATCH";
    what.path =
        "/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets/trainjob-1234?fieldManager=cotrain&force=true";
    what.headers = {{"accept", "application/json"},
                    {"content-type", "application/apply-patch+yaml"},
                    {"content-length", "2048"},
                    {"user-agent", "cotrain/0.1"}};
    if (token) what.headers.push_back({"authorization", "Bearer " + std::string(1000, 't'), true});
    what.body.assign(2048, 'x');
    what.rank = priority::write;
    return what;
}

class client final : public h2::events {
   public:
    client(request what, h2::limits limits) : what_(std::move(what)), session(h2::role::client, limits, *this) {}
    void ask() { benchmark::DoNotOptimize(session.submit(what_, "https", "10.96.0.1:443")); }

    std::size_t completed = 0;
    std::size_t bytes = 0;
    bool going_on = true;

   private:
    void on_head(h2::stream_key, h2::head head) override { bytes += head.headers.size(); }
    void on_data(h2::stream_key stream, std::string_view part) override {
        bytes += part.size();
        session.consume(stream, part.size());
    }
    void on_end(h2::stream_key, header_list) override {}
    void on_close(h2::stream_key, h2::ending how, std::uint32_t, std::string_view) override {
        completed += static_cast<std::size_t>(how == h2::ending::complete);
        if (going_on) ask();
    }

    request what_;

   public:
    h2::session session;
};

class server final : public h2::events {
   public:
    explicit server(h2::limits limits) : session(h2::role::server, limits, *this) {}

   private:
    void on_head(h2::stream_key, h2::head) override {}
    void on_data(h2::stream_key stream, std::string_view part) override { session.consume(stream, part.size()); }
    void on_end(h2::stream_key stream, header_list) override {
        session.respond(stream, 200, headers_, false);
        session.write(stream, body_);
        session.finish(stream);
    }
    void on_close(h2::stream_key, h2::ending, std::uint32_t, std::string_view) override {}

    header_list headers_{{"audit-id", "3d2b2c0e-7c1d-4a53-9d1b-0a4f6d1c2b11"},
                         {"cache-control", "no-cache, private"},
                         {"content-type", "application/json"},
                         {"x-kubernetes-pf-flowschema-uid", "1b0f8a3e-1111-4444-8888-123456789abc"},
                         {"x-kubernetes-pf-prioritylevel-uid", "2c0f8a3e-1111-4444-8888-123456789abc"},
                         {"date", "Thu, 06 Aug 2026 10:00:00 GMT"}};
    std::string body_ = std::string(2048, 'y');

   public:
    h2::session session;
};

h2::limits with_90_streams() {
    h2::limits l;
    l.urgent_reserve = 10;
    return l;
}

// Both ends.
void h2_patch_round_trip(benchmark::State& state) {
    client asks(apply_request(state.range(0) != 0), with_90_streams());
    server answers(with_90_streams());
    cotrain::base::byte_queue up(retained_bytes);
    cotrain::base::byte_queue down(retained_bytes);
    for (int i = 0; i < 90; ++i) asks.ask();
    for (auto _ : state) {
        asks.session.drain(up, write_bytes);
        if (!answers.session.feed(up.view())) state.SkipWithError("the server failed");
        up.clear();
        answers.session.drain(down, write_bytes);
        if (!asks.session.feed(down.view())) state.SkipWithError("the client failed");
        down.clear();
    }
    state.SetItemsProcessed(static_cast<std::int64_t>(asks.completed));
    asks.going_on = false;
    asks.session.abandon("done");
    answers.session.abandon("done");
}
BENCHMARK(h2_patch_round_trip)->ArgName("token")->Arg(0)->Arg(1);

// The client alone: what the server said is recorded once and played back. Run under
// `valgrind --tool=callgrind --toggle-collect='*h2_client_half*'` what is counted is the client's; divided by the calls
// of on_stream_close (callgrind_annotate --tree=calling) it is instructions a request.
[[gnu::noinline]] std::size_t h2_client_half(const std::vector<std::string>& answers, const request& what) {
    client asks(what, with_90_streams());
    asks.going_on = true;
    cotrain::base::byte_queue up(retained_bytes);
    for (int i = 0; i < 90; ++i) asks.ask();
    for (const std::string& part : answers) {
        asks.session.drain(up, write_bytes);
        up.clear();
        if (!asks.session.feed(part)) break;
    }
    asks.going_on = false;
    asks.session.abandon("done");
    return asks.completed;
}

std::vector<std::string> record(const request& what, int turns) {
    client asks(what, with_90_streams());
    server answers(with_90_streams());
    std::vector<std::string> said;
    cotrain::base::byte_queue up(retained_bytes);
    cotrain::base::byte_queue down(retained_bytes);
    for (int i = 0; i < 90; ++i) asks.ask();
    for (int i = 0; i < turns; ++i) {
        asks.session.drain(up, write_bytes);
        if (!answers.session.feed(up.view())) break;
        up.clear();
        answers.session.drain(down, write_bytes);
        said.emplace_back(down.view());
        if (!asks.session.feed(down.view())) break;
        down.clear();
    }
    asks.going_on = false;
    asks.session.abandon("done");
    answers.session.abandon("done");
    return said;
}

void h2_patch_client_only(benchmark::State& state) {
    const request what = apply_request(state.range(0) != 0);
    const std::vector<std::string> answers = record(what, 100);
    std::size_t completed = 0;
    for (auto _ : state) completed += h2_client_half(answers, what);
    state.SetItemsProcessed(static_cast<std::int64_t>(completed));
}
BENCHMARK(h2_patch_client_only)->ArgName("token")->Arg(0)->Arg(1);

}  // namespace
