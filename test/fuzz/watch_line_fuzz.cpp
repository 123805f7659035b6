// Arbitrary bytes as a watch line and as a list page: no crash, no view outside the text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "budget.hpp"
#include "doc/json.hpp"
#include "watch/decode.hpp"
#include "watch/intake.hpp"
#include "watch/object_store.hpp"

namespace {

using namespace cotrain::watch;

void require(bool good) {
    if (!good) std::abort();
}

void inside(std::string_view part, std::string_view whole) {
    require(part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size()));
}

void check(const object_view& o, std::string_view text) {
    for (const json_text& t :
         {o.api_version, o.kind, o.name, o.ns, o.uid, o.resource_version, o.creation_time, o.deletion_time,
          o.controller.uid, o.controller.name, o.annotations.num_proc, o.annotations.initial_events_end})
        inside(t.raw, text);
    for (const std::string_view raw :
         {std::string_view(o.labels), std::string_view(o.annotations), std::string_view(o.finalizers),
          std::string_view(o.spec), std::string_view(o.status), std::string_view(o.overhead)})
        inside(raw, text);
    (void)decode_status(o);
    (void)decode_runtime_classes(o);
    (void)has_text(o.finalizers, "x");
}

void store(const object_view& o, const train_job_parts& job, const job_set_parts& set) {
    text_table texts;
    {
        object_store jobs(texts);
        projector project;
        const auto first = jobs.upsert(project.train_job(o, job));
        require(jobs.get(first.at) != nullptr);
        require(jobs.upsert(project.train_job(o, job)).changes == nothing);
        jobs.upsert(project.job_set(o, set));
        jobs.upsert(project.runtime(o));
        jobs.upsert(project.plain(o));
        jobs.upsert(project.metadata(o));
    }
    require(texts.size() == 0);
}

// Where the full parser finds a line, both understand the same by it. As the full parser writes it: of members that are
// there twice each keeps one, but not the same one.
void compare(std::string_view text) {
    cotrain::doc::arena memory;
    const auto full = cotrain::doc::parse_json(memory, text);
    if (!full || !full->get("object").is_object() || !full->get({"object", "metadata"}).is_object()) return;
    const std::string line = cotrain::doc::to_json(*full);
    event_view event;
    if (!decode_event(line, event)) return;
    const auto same = [&](const json_text& seen, std::initializer_list<std::string_view> path) {
        const auto value = full->get("object").get(path);
        std::string scratch;
        if (value.is_string()) require(seen.value(scratch) == value.text());
    };
    same(event.object.kind, {"kind"});
    same(event.object.name, {"metadata", "name"});
    same(event.object.ns, {"metadata", "namespace"});
    same(event.object.uid, {"metadata", "uid"});
    same(event.object.resource_version, {"metadata", "resourceVersion"});
    const auto spec = full->get({"object", "spec"});
    if (spec.is_object()) require(event.object.spec == cotrain::doc::to_json(spec));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A block of exactly this size, so that a byte too far is seen.
    const auto exact = std::make_unique<char[]>(size);
    if (size != 0) std::memcpy(exact.get(), data, size);
    const std::string_view text(exact.get(), size);
    cotrain::fuzz::at_two_sizes(text, [](std::string_view line) {
        cotrain::fuzz::within_budget("a watch line", line.size(), [&] {
            train_job_parts parts;
            event_view view;
            (void)decode_event(line, view, &parts);
        });
    });
    compare(text);
    train_job_parts job;
    job_set_parts set;
    event_view event;
    if (decode_event(text, event, &job)) {
        check(event.object, text);
        // Two readers may differ about names of members that neither knows (base/json_text.hpp), and only about JSON
        // that the full parser refuses.
        event_view again;
        cotrain::doc::arena memory;
        const bool good = decode_event(text, again, &set).has_value();
        require(good || !cotrain::doc::parse_json(memory, text));
        if (good) store(event.object, job, set);
    }
    (void)decode_page(text, {}, [text](const object_view& item) { check(item, text); });
    return 0;
}
