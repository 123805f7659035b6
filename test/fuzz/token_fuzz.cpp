// Any bytes as a token, as an issuer's keys, and as a progress report: none is believed, and nothing breaks.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "budget.hpp"
#include "serve/jwt.hpp"
#include "serve/progress.hpp"

namespace {

using namespace cotrain::serve;

void demand(bool holds) {
    if (!holds) std::abort();
}

// A key whose private half nobody has kept.
constexpr std::string_view published =
    R"({"keys":[{"use":"sig","kty":"EC","kid":"k","crv":"P-256","alg":"ES256",)"
    R"("x":"axfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpY","y":"T-NC4v4af5uO5-tKfA-eFivOM1drMV7Oy7ZAaDe_UfU"}]})";

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input(reinterpret_cast<const char*>(data), size);
    static const key_set keys = *key_set::read(published);
    demand(keys.size() == 1);
    cotrain::fuzz::at_two_sizes(input, [](std::string_view text) {
        using cotrain::fuzz::within_budget;
        within_budget("a token", text.size(), [&] {
            if (const auto t = read_token(text)) (void)keys.verify(*t);
        });
        within_budget("keys", text.size(), [&] { (void)key_set::read(text); });
        within_budget("a report", text.size(), [&] { (void)read_report(text, {"ns", "name"}); });
    });
    if (const auto t = read_token(input)) {
        demand(!keys.verify(*t));
        demand(t->signed_text.size() < input.size());
        (void)check_claims(t->claims, {"https://issuer", "audience", "ns"}, {});
    }
    if (const auto more = key_set::read(input)) demand(more->size() <= published_keys_max);
    const reported_job job{"ns", "name"};
    if (const auto report = read_report(input, job); report && !report->apply.empty()) {
        const auto again = read_report(report->echo, job);
        demand(again && again->echo == report->echo && again->apply == report->apply);
    }
    if (const auto at = job_at(input)) demand(audience_of(*at).contains(at->name));
    demand(bearer_token(input).find(' ') == std::string_view::npos);
    return 0;
}
