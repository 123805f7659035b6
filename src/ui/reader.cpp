#include "ui/reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/names.hpp"
#include "doc/edit.hpp"
#include "doc/json.hpp"
#include "doc/yaml.hpp"
#include "ui/reading.hpp"

namespace cotrain::ui {

namespace {

namespace names = api::names;
using doc::ref;

constexpr kube::resource resource_of(const api::resource_type& type) {
    return {type.group, type.version, type.plural, type.kind, type.namespaced};
}

constexpr kube::resource pod{"", "v1", "pods", "Pod"};
constexpr kube::resource core_event{"", "v1", "events", "Event"};
constexpr kube::resource train_job = resource_of(names::train_job);
constexpr kube::resource job_set = resource_of(names::job_set);

// An object that a page may ask for: a child is called as its job is, with a suffix.
struct known_object {
    std::string_view which;
    kube::resource of;
    std::string_view suffix{};
    bool child = true;
};
constexpr std::array known{
    known_object{"trainjob", train_job},
    known_object{"jobset", job_set},
    known_object{"podgroup", resource_of(names::coscheduling_pod_group)},
    known_object{"podgroup.volcano", resource_of(names::volcano_pod_group)},
    known_object{"configmap.snapshot", resource_of(names::config_map), names::snapshot_suffix},
    known_object{"configmap.hostfile", resource_of(names::config_map), names::hostfile_suffix},
    known_object{"configmap.flux", resource_of(names::config_map), names::flux_entrypoint_suffix},
    known_object{"configmap.tls", resource_of(names::config_map), names::tls_config_suffix},
    known_object{"pod", pod, {}, false},
    known_object{"trainingruntime", resource_of(names::training_runtime), {}, false},
    known_object{"clustertrainingruntime", resource_of(names::cluster_training_runtime), {}, false},
};

base::result<ref> parse(doc::arena& memory, const std::string& body) { return doc::parse_json(memory, body); }

std::string one_per_name(std::string_view label, std::string_view name) { return fmt::format("{}={}", label, name); }

}  // namespace

bool is_name(std::string_view text) {
    const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
    return !text.empty() && text.size() <= kube::name_bytes_max && text.front() != '.' && text.front() != '-' &&
           std::ranges::all_of(text, fits);
}

awaitable<base::result<std::string>> reader::details(job_name of) {
    const auto job = co_await api_.get(train_job, {of.ns, of.name});
    if (!job) co_return base::fail(job.error());
    const auto set = co_await api_.get(job_set, {of.ns, of.name});
    doc::arena memory;
    const auto job_document = parse(memory, job->body);
    if (!job_document) co_return base::fail(job_document.error());
    ref set_document;
    std::string why;
    if (!set) {
        why = set.error().http_status == 404 ? std::string() : set.error().message;
    } else if (const auto read = parse(memory, set->body); read) {
        set_document = *read;
    } else {
        why = read.error().message;
    }
    job_details out = read_details(*job_document, set_document);
    out.setError = std::move(why);
    co_return to_json(out);
}

awaitable<base::result<std::string>> reader::pods(job_name of) {
    const std::string selector = one_per_name("jobset.sigs.k8s.io/jobset-name", of.name);
    auto pages = api_.pages(pod, of.ns, {.label_selector = selector, .limit = pods_page});
    pod_list out;
    while (!out.more) {
        const auto page = co_await pages.next();
        if (!page) co_return base::fail(page.error());
        if (!*page) break;
        doc::arena memory;
        const auto document = parse(memory, (*page)->body);
        if (!document) co_return base::fail(document.error());
        for (const ref each : document->get("items").items()) out.pods.push_back(read_pod(each));
        out.more = out.pods.size() >= pods_max && !(*page)->head.continue_token.empty();
    }
    co_return to_json(out);
}

awaitable<base::result<void>> reader::list_events(job_name of, std::string selector, std::uint32_t limit,
                                                  bool of_its_pods, event_list* into) {
    const auto page = co_await api_.list(core_event, of.ns, {.field_selector = selector, .limit = limit});
    if (!page) co_return base::fail(page.error());
    doc::arena memory;
    const auto document = parse(memory, page->body);
    if (!document) co_return base::fail(document.error());
    into->more = into->more || !document->get({"metadata", "continue"}).as_string().empty();
    const std::string prefix = of.name + "-";
    for (const ref each : document->get("items").items()) {
        if (of_its_pods && !each.get({"involvedObject", "name"}).as_string().starts_with(prefix)) continue;
        into->events.push_back(read_event(each));
    }
    co_return base::result<void>{};
}

awaitable<base::result<std::string>> reader::events(job_name of) {
    event_list out;
    const auto own = co_await list_events(of, one_per_name("involvedObject.name", of.name), events_max, false, &out);
    if (!own) co_return base::fail(own.error());
    // A namespace may have very many: what is beyond one page of them is not looked for.
    const auto others = co_await list_events(of, "involvedObject.kind=Pod", pod_events_scanned, true, &out);
    if (!others) co_return base::fail(others.error());
    std::ranges::stable_sort(out.events, std::ranges::greater{}, &event_row::at);
    co_return to_json(out);
}

awaitable<base::result<std::string>> reader::children(job_name of) {
    child_list out;
    for (const known_object& each : known) {
        if (!each.child) continue;
        const std::string name = of.name + std::string(each.suffix);
        const auto there = co_await api_.get(each.of, {of.ns, name}, {.as = kube::shape::metadata});
        if (there) out.children.push_back({std::string(each.of.kind), name, std::string(each.which)});
    }
    co_return to_json(out);
}

awaitable<base::result<std::string>> reader::object(std::string which, job_name of) {
    const auto found = std::ranges::find(known, std::string_view(which), &known_object::which);
    if (found == known.end()) co_return base::fail(base::errc::invalid, "no such kind of object");
    const auto answer = co_await api_.get(found->of, {found->of.namespaced ? of.ns : std::string(), of.name});
    if (!answer) co_return base::fail(answer.error());
    doc::arena memory;
    const auto document = parse(memory, answer->body);
    if (!document) co_return base::fail(document.error());
    doc::editor shown = doc::editor::of(memory, *document);
    if (doc::editor metadata = shown.child("metadata")) metadata.remove("managedFields");
    std::string out;
    if (!doc::append_yaml(out, shown.view(), yaml_bytes_max)) out += "\n# … cut here: the rest is not shown\n";
    co_return out;
}

}  // namespace cotrain::ui
