// Arbitrary bytes as an AdmissionReview: every webhook answers with a review, asks a bounded number of questions, and
// lets pass what its own patch made.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "admission/defaults.hpp"
#include "admission/webhook.hpp"
#include "budget.hpp"
#include "doc/json.hpp"
#include "plugins/builtin.hpp"

namespace {

using namespace cotrain;

constexpr std::size_t questions_max = 1000;

constexpr std::string_view runtime_json =
    R"({"apiVersion":"trainer.kubeflow.org/v1alpha1","kind":"ClusterTrainingRuntime","metadata":{"name":"rt"},)"
    R"("spec":{"mlPolicy":{"numNodes":2,"mpi":{"runLauncherAsNode":true}},"podGroupPolicy":{"volcano":{}},)"
    R"("template":{"spec":{"replicatedJobs":[{"name":"launcher","template":{"metadata":{"labels":)"
    R"({"trainer.kubeflow.org/trainjob-ancestor-step":"trainer"}},"spec":{"template":{"spec":{"priorityClassName":)"
    R"("high","containers":[{"name":"node","image":"i"}]}}}}},{"name":"node","template":{"spec":{"template":{"spec":)"
    R"({"containers":[{"name":"node","image":"i"}]}}}}}]}}}})";

void require(bool good) {
    if (!good) std::abort();
}

admission::answer look_up(const admission::question& q, doc::ref runtime) {
    require(q.type != nullptr);
    if (q.type->kind.ends_with("Runtime")) return {.state = runtime::presence::exists, .document = runtime};
    return {};
}

// From a request's bytes to the answer's.
std::string answer_to(std::uint8_t choices, std::string_view body) {
    static doc::arena kept;
    static const doc::ref runtime = *doc::parse_json_copy(kept, runtime_json);
    static const plugins::builtin framework;
    const auto h = static_cast<admission::hook>(choices & 3U);
    const admission::gates open{.mutable_while_suspended = (choices & 4U) != 0, .ttl = (choices & 8U) != 0};
    admission::call c(h, std::string(body), {}, framework, open);
    std::size_t questions = 0;
    while (const auto q = c.next()) {
        require(++questions < questions_max);
        c.tell(look_up(*q, runtime));
    }
    return c.finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    if (size == 0) return 0;
    const std::string body(reinterpret_cast<const char*>(data) + 1, size - 1);
    const std::string answer = answer_to(data[0], body);
    fuzz::at_two_sizes(body, [&](std::string_view text) {
        fuzz::within_budget("a review", text.size(), [&] { (void)answer_to(data[0], text); });
    });
    doc::arena memory;
    const auto review = doc::parse_json(memory, answer);
    require(review.has_value());
    const doc::ref response = review->get("response");
    require(response.get("allowed").as_bool().has_value());
    require(response.get("allowed").as_bool(true) || response.get({"status", "code"}).as_int(0) >= 400);

    // Defaulting is done once: its own result needs no more.
    const auto document = doc::parse_json(memory, body);
    if (!document || !document->is_object()) return 0;
    if (const auto once = admission::default_train_job(memory, *document, {}, {})) {
        const auto again = admission::default_train_job(memory, doc::freeze(memory, once->document), {}, {});
        require(again && again->json_patch.empty());
    }
    return 0;
}
