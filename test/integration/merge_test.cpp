// Our strategic merge against the API server's own, on random pod templates and patches (dry runs).
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "doc/json.hpp"
#include "integration/control.hpp"
#include "integration/merge_random.hpp"
#include "kube/client.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"
#include "support/run.hpp"

namespace cotrain::kube {
namespace {

constexpr resource pod_templates{"", "v1", "podtemplates", "PodTemplate", true};
constexpr std::uint64_t originals = 12;
constexpr std::uint64_t patches_each = 25;

// What the server says of a pod template: the template as it would be stored, or a refusal.
struct outcome {
    bool accepted = false;
    doc::ref pod_template;
    std::string message;
};

struct scene {
    asio::io_context loop{1};
    std::unique_ptr<client> api;
    doc::arena memory;
    int agreed = 0;
    int refused = 0;

    scene() {
        auto made = client::make(loop.get_executor(), test::real_cluster(), {}, base::null_logger());
        if (!made) throw std::runtime_error(made.error().message);
        api = std::move(*made);
    }

    outcome read(const base::result<reply>& said) {
        if (!said) {
            EXPECT_EQ(said.error().http_status, 422) << said.error().message;
            return {.message = said.error().message};
        }
        const auto document = doc::parse_json_copy(memory, said->body);
        EXPECT_TRUE(document.has_value());
        return {.accepted = true, .pod_template = document ? document->get("template") : doc::ref{}};
    }

    std::string object(const std::string& name, doc::ref pod_template) {
        doc::editor out = doc::editor::object(memory);
        out.set("apiVersion", "v1").set("kind", "PodTemplate").ensure_object("metadata").set("name", name);
        out.set("template", pod_template);
        return doc::to_json(out);
    }

    awaitable<outcome> patched_by_server(std::string name, std::string body) {
        auto what =
            build_json_patch(pod_templates, {.ns = "default", .name = name}, std::move(body), {.dry_run = true});
        for (auto& header : what->http.headers) {
            if (header.name == "content-type") header.value = "application/strategic-merge-patch+json";
        }
        co_return read(co_await api->perform(std::move(*what)));
    }
    awaitable<outcome> stored_by_server(std::string name, doc::ref pod_template) {
        co_return read(co_await api->update(pod_templates, {.ns = "default", .name = name}, object(name, pod_template),
                                            {.dry_run = true}));
    }
};

// Both ways must end alike: the server merges, or the server takes (and defaults) what we merged.
awaitable<void> compare(scene* s, std::string name, doc::ref stored, doc::ref patch) {
    const auto ours = runtime::strategic_merge(s->memory, stored, patch, runtime::schema::pod_template);
    EXPECT_TRUE(ours.has_value()) << ours.error().message << " for " << doc::to_json(patch);
    if (!ours) co_return;
    doc::editor body = doc::editor::object(s->memory);
    body.set("template", patch);
    const outcome theirs = co_await s->patched_by_server(name, doc::to_json(body));
    const outcome mine = co_await s->stored_by_server(name, *ours);
    const bool alike =
        theirs.accepted == mine.accepted && (!mine.accepted || equal(theirs.pod_template, mine.pod_template));
    EXPECT_TRUE(alike) << doc::to_json(stored) << "\n+ " << doc::to_json(patch) << "\nserver "
                       << (theirs.accepted ? doc::to_json(theirs.pod_template) : theirs.message) << "\nours   "
                       << (mine.accepted ? doc::to_json(mine.pod_template) : mine.message);
    ++(theirs.accepted ? s->agreed : s->refused);
}

awaitable<void> play(scene* s) {
    for (std::uint64_t seed = 0; seed < originals && !testing::Test::HasFailure(); ++seed) {
        const std::string name = "merge-" + std::to_string(seed);
        test::random_templates random(s->memory, seed);
        const outcome original =
            s->read(co_await s->api->create(pod_templates, "default", s->object(name, random.original())));
        EXPECT_TRUE(original.accepted) << original.message;
        for (std::uint64_t i = 0; original.accepted && i < patches_each && !testing::Test::HasFailure(); ++i) {
            co_await compare(s, name, doc::freeze(s->memory, original.pod_template), random.patch());
        }
        if (original.accepted) {
            EXPECT_TRUE((co_await s->api->remove(pod_templates, {.ns = "default", .name = name})).has_value());
        }
    }
    co_await s->api->stop();
}

TEST(merge, agrees_with_the_api_server_on_random_patches) {
    scene s;
    test::run(s.loop, play(&s));
    // Most patches must be ones that both accept, or nothing was compared.
    EXPECT_GT(s.agreed, s.refused) << s.agreed << " accepted, " << s.refused << " refused";
}

}  // namespace
}  // namespace cotrain::kube
