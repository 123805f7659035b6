// Arbitrary bytes as a watch line and as a list page: no crash, no view outside the text, skippers of one mind.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string_view>

#include "api/json.hpp"
#include "budget.hpp"
#include "watch/object_store.hpp"
#include "watch/object_view.hpp"
#include "watch/projector.hpp"
#include "watch/skip.hpp"

namespace {

using namespace cotrain::watch;

void require(bool good) {
    if (!good) std::abort();
}

void inside(std::string_view part, std::string_view whole) {
    require(part.empty() || (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size()));
}

void check(const object_view& o, std::string_view text) {
    for (const json_text& t : {o.api_version, o.kind, o.name, o.ns, o.uid, o.resource_version, o.creation_time,
                               o.deletion_time, o.controller.uid, o.controller.name})
        inside(t.raw, text);
    for (const std::string_view raw : {o.labels, o.annotations, o.finalizers, o.spec, o.status, o.overhead, o.whole})
        inside(raw, text);
    (void)decode_status(o);
    (void)ends_initial_events(o);
    (void)decode_runtime_classes(o);
    (void)has_text(o.finalizers, "x");
}

void store(const object_view& o, const train_job_reader& job, const job_set_reader& set) {
    text_table texts;
    {
        object_store jobs(texts);
        projector project;
        const auto first = jobs.upsert(project.train_job(o, job));
        require(jobs.get(first.at) != nullptr);
        require(jobs.upsert(project.train_job(o, job)).changes == nothing);
        jobs.upsert(project.job_set(o, set, false));
        jobs.upsert(project.runtime(o));
        jobs.upsert(project.plain(o));
        jobs.upsert(project.metadata(o));
    }
    require(texts.size() == 0);
}

// Where the full parser finds a line, both understand the same by it. As the full parser writes it: of members that are
// there twice each keeps one, but not the same one.
void compare(std::string_view text) {
    cotrain::api::arena memory;
    const auto full = cotrain::api::parse_json(memory, text);
    if (!full || !full->get("object").is_object() || !full->get({"object", "metadata"}).is_object()) return;
    const std::string line = cotrain::api::to_json(*full);
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
    if (spec.is_object()) require(event.object.spec == cotrain::api::to_json(spec));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    // A block of exactly this size, so that a byte too far is seen.
    const auto exact = std::make_unique<char[]>(size);
    if (size != 0) std::memcpy(exact.get(), data, size);
    const std::string_view text(exact.get(), size);
    cotrain::fuzz::at_two_sizes(text, [](std::string_view line) {
        cotrain::fuzz::within_budget("a watch line", line.size(), [&] {
            train_job_reader reader;
            event_view view;
            (void)decode_event(line, view, &reader);
        });
    });
    compare(text);
    train_job_reader job;
    job_set_reader set;
    event_view event;
    if (decode_event(text, event, &job)) {
        check(event.object, text);
        event_view again;
        require(decode_event(text, again, &set).has_value());
        store(event.object, job, set);
    }
    page_reader page(text);
    object_view item;
    while (page.next(item)) check(item, text);
    (void)page.finish();

    const char* const end = text.data() + text.size();
    const skip_result plain = skip_container_at(skip_level::portable, text.data(), end, '}');
    const skip_result best = skip_container(text.data(), end, '}');
    require(plain.end == best.end && plain.fault == best.fault);
    return 0;
}
