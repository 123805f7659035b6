// Steps out, snapshots in.
#include "parity/parity_case.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "doc/json.hpp"
#include "parity/parity_fields.hpp"

namespace cotrain::parity {

namespace {

using namespace std::chrono_literals;
using doc::editor;

// Nothing changed for this long: what follows from a step has happened. On a busy machine more may still come, so a
// snapshot that differs is taken again for a while.
constexpr auto quiet_for = 1200ms;
constexpr auto patience = 25s;
// An input has to be known to the operator before a TrainJob that uses it.
constexpr auto input_lag = 400ms;

struct live_kind {
    std::string_view label;
    kube::resource of;
    std::string_view api_version;
};

constexpr std::array live_kinds{
    live_kind{
        "TrainJob", {"trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"}, "trainer.kubeflow.org/v1alpha1"},
    live_kind{"TrainingRuntime",
              {"trainer.kubeflow.org", "v1alpha1", "trainingruntimes", "TrainingRuntime"},
              "trainer.kubeflow.org/v1alpha1"},
    live_kind{"ClusterTrainingRuntime",
              {"trainer.kubeflow.org", "v1alpha1", "clustertrainingruntimes", "ClusterTrainingRuntime", false},
              "trainer.kubeflow.org/v1alpha1"},
    live_kind{"JobSet", {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet"}, "jobset.x-k8s.io/v1alpha2"},
    live_kind{"PodGroup.scheduling.x-k8s.io",
              {"scheduling.x-k8s.io", "v1alpha1", "podgroups", "PodGroup"},
              "scheduling.x-k8s.io/v1alpha1"},
    live_kind{"PodGroup.scheduling.volcano.sh",
              {"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup"},
              "scheduling.volcano.sh/v1beta1"},
    live_kind{"ConfigMap", {"", "v1", "configmaps", "ConfigMap"}, "v1"},
    live_kind{"Secret", {"", "v1", "secrets", "Secret"}, "v1"}};

constexpr kube::resource events{"events.k8s.io", "v1", "events", "Event"};
constexpr kube::resource namespaces{"", "v1", "namespaces", "Namespace", false};
constexpr live_kind priority_class{
    "PriorityClass", {"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false}, "scheduling.k8s.io/v1"};
constexpr live_kind limit_range{"LimitRange", {"", "v1", "limitranges", "LimitRange"}, "v1"};
constexpr live_kind runtime_class{
    "RuntimeClass", {"node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", false}, "node.k8s.io/v1"};

const live_kind& kind_of(std::string_view kind, std::string_view api_version = {}) {
    for (const live_kind* more : {&priority_class, &limit_range, &runtime_class})
        if (more->label == kind) return *more;
    for (const live_kind& k : live_kinds)
        if (k.of.kind == kind && (api_version.empty() || k.api_version == api_version)) return k;
    throw std::runtime_error("no kind " + std::string(kind));
}

kube::location place_of(const live_kind& k, const std::string& ns, const std::string& name) {
    return {.ns = k.of.namespaced ? std::string_view(ns) : std::string_view{}, .name = name};
}

bool refused(ref verdict) { return verdict.get("verdict").as_string() == "rejected"; }

// What counts of an event; its text is each operator's own.
std::string event_text(ref e) {
    std::string out;
    for (const auto* key : {"type", "reason", "action", "from", "regarding"}) {
        out.append(e.get(key).as_string()).append(" | ");
    }
    return out;
}

}  // namespace

live_case::live_case(stage& on, golden::allowances& meant, const std::string& name, int number)
    : stage_(on), meant_(meant), case_(name) {
    char text[32];
    std::snprintf(text, sizeof text, "pt%03d", number);
    prefix_ = text;
    ns_ = prefix_ + "-ns";
}

std::string live_case::live(std::string text) const {
    golden::replace_all(text, "$NS", ns_);
    golden::replace_all(text, "$P", prefix_);
    return text;
}

std::string live_case::recorded(std::string text) const {
    for (const auto& [uid, meaning] : uids_) golden::replace_all(text, uid, meaning);
    golden::replace_all(text, ns_, "$NS");
    golden::replace_all(text, prefix_, "$P");
    return text;
}

void live_case::learn_uids(ref item, std::string_view kind) {
    uids_.try_emplace(
        std::string(item.get({"metadata", "uid"}).as_string()),
        "<uid of " + std::string(kind) + " " + recorded(std::string(item.get({"metadata", "name"}).as_string())) + ">");
}

awaitable<void> live_case::pause(std::chrono::milliseconds time) {
    asio::steady_timer timer(stage_.loop, time);
    co_await timer.async_wait(asio::use_awaitable);
}

awaitable<void> live_case::before_input(std::string_view kind) {
    if (kind != "TrainJob") {
        input_at_ = clock::now();
        co_return;
    }
    const auto left = input_at_ + input_lag - clock::now();
    if (left > 0ms) co_await pause(std::chrono::ceil<std::chrono::milliseconds>(left));
}

awaitable<void> live_case::quiet() {
    for (;;) {
        const auto last = std::max(step_at_, stage_.changes.last(ns_, prefix_));
        const auto left = last + quiet_for - clock::now();
        if (left <= 0ms) co_return;
        co_await pause(std::chrono::ceil<std::chrono::milliseconds>(left));
    }
}

awaitable<void> live_case::play() {
    const std::string ns = R"({"apiVersion":"v1","kind":"Namespace","metadata":{"name":")" + ns_ + R"(","labels":{")" +
                           case_label + R"(":"yes"}}})";
    const auto made = co_await stage_.api->create(namespaces, "", ns);
    if (!made) differences_.push_back({"/namespace", made.error().message});
    int number = 0;
    for (const ref s : case_.steps.items()) {
        char prefix[16];
        std::snprintf(prefix, sizeof prefix, "%02d", ++number);
        step_at_ = clock::now();
        co_await step(s, prefix);
    }
    const std::string_view end = case_.recording.members().back().key();
    if (end.ends_with(" snapshot end") && compared_ != end) co_await compare_snapshot(std::string(end));
    std::erase_if(differences_, [&](const difference& d) { return meant_.allows(case_.name, d.path); });
    // Finalizers of the case would keep its jobs.
    const auto jobs = co_await stage_.api->list(live_kinds[0].of, ns_);
    doc::arena memory;
    const auto list = jobs ? doc::parse_json(memory, jobs->body) : base::result<ref>{};
    for (const ref job : list ? list->get("items").items() : std::span<const ref>{}) {
        const std::string name(job.get({"metadata", "name"}).as_string());
        static_cast<void>(co_await stage_.api->merge_patch(live_kinds[0].of, {.ns = ns_, .name = name},
                                                           R"({"metadata":{"finalizers":null}})"));
        static_cast<void>(co_await stage_.api->remove(live_kinds[0].of, {.ns = ns_, .name = name}));
    }
    static_cast<void>(co_await stage_.api->remove(namespaces, {.name = ns_}));
}

awaitable<void> live_case::step(ref s, std::string prefix) {
    char letter = 'a';
    for (const ref document : s.get("apply").items()) {
        const auto kind = document.get("kind").as_string();
        const auto version = document.get("apiVersion").as_string();
        const std::string name(document.get({"metadata", "name"}).as_string());
        const std::string short_name = name.size() > 70 ? name.substr(0, 67) + "..." : name;
        co_await apply(document, prefix + " " + letter++ + " apply " + std::string(kind_of(kind, version).label) + " " +
                                     short_name);
    }
    const std::string kind(s.get("kind").as_string());
    const std::string part(s.get("subresource").as_string());
    if (s.get("patch")) {
        co_await patch(s, prefix + " patch " + kind + " " + std::string(s.get("name").as_string()) +
                              (part.empty() ? "" : " " + part));
    }
    if (const ref gone = s.get("delete")) co_await remove(gone);
    if (const ref time = s.get("sleep")) {
        const std::string text(time.as_string());
        co_await pause(text.ends_with("ms") ? std::chrono::milliseconds(std::stoi(text))
                                            : std::chrono::milliseconds(1000 * std::stoi(text)));
    }
    if (s.get("settle")) co_await quiet();
    if (const ref name = s.get("snapshot")) {
        co_await compare_snapshot(prefix + " snapshot " + std::string(name.as_string()));
    }
}

awaitable<void> live_case::apply(ref document, std::string key) {
    const live_kind& k = kind_of(document.get("kind").as_string(), document.get("apiVersion").as_string());
    co_await before_input(k.label);
    judge(co_await stage_.api->create(k.of, k.of.namespaced ? ns_ : "", live(doc::to_json(document)),
                                      {.field_manager = "case"}),
          key);
}

awaitable<void> live_case::patch(ref s, std::string key) {
    const live_kind& k = kind_of(s.get("kind").as_string());
    co_await before_input(k.label);
    const std::string name = live(std::string(s.get("name").as_string()));
    judge(co_await stage_.api->merge_patch(k.of, place_of(k, ns_, name), live(doc::to_json(s.get("patch"))),
                                           {.field_manager = "case", .sub_resource = s.get("subresource").as_string()}),
          key);
}

awaitable<void> live_case::remove(ref what) {
    const live_kind& k = kind_of(what.get("kind").as_string());
    const std::string name = live(std::string(what.get("name").as_string()));
    const auto done =
        co_await stage_.api->remove(k.of, place_of(k, ns_, name), {.dependents = kube::propagation::background});
    if (!done) differences_.push_back({"/delete " + name, done.error().message});
}

// Refused is what was refused then, with the same code; which words say so is shown by the tests of admission.
void live_case::judge(const base::result<kube::reply>& answer, const std::string& key) {
    const ref expected = case_.recording.get(key);
    const bool accepted = !refused(expected);
    if (!expected) differences_.push_back({"/steps/" + key, "there is no recording of this step"});
    if (answer.has_value() != accepted) {
        differences_.push_back({"/steps/" + key, answer ? "accepted" : answer.error().message});
    } else if (!answer && answer.error().http_status != expected.get("code").as_int(0)) {
        differences_.push_back({"/steps/" + key + "/code", answer.error().message});
    }
}

awaitable<void> live_case::compare_snapshot(std::string key) {
    compared_ = key;
    ++snapshots_;
    const std::string path = "/steps/" + key;
    const ref expected = case_.recording.get(key);
    if (!expected) {
        differences_.push_back({path, "there is no recording of this snapshot"});
        co_return;
    }
    for (const auto& m : expected.members())
        if (!m.value.as_string().starts_with("<as in snapshot ")) last_[std::string(m.key())] = m.value;
    const auto due = clock::now() + patience;
    std::vector<difference> found;
    do {
        co_await quiet();
        found = co_await look(expected, path);
        const bool meant =
            std::ranges::all_of(found, [&](const difference& d) { return meant_.allows(case_.name, d.path); });
        if (meant) break;
        co_await pause(500ms);
    } while (clock::now() < due);
    differences_.insert(differences_.end(), found.begin(), found.end());
}

awaitable<std::vector<difference>> live_case::look(ref expected, std::string path) {
    doc::arena memory;
    std::map<std::string, std::set<std::string>> owned;
    const editor actual = co_await snapshot(&memory, &owned);
    golden::normaliser normal(memory, case_);
    std::vector<difference> out;
    for (const auto& m : expected.members()) {
        const std::string label(m.key());
        if (label == "Events") continue;
        const ref wanted = last_.at(label);
        const std::size_t before = out.size();
        golden::compare(normal.recorded(label, wanted), actual.get(label), path + "/" + label, out);
        if (out.size() != before) continue;
        std::set<std::string> fields;
        for (const auto& by : wanted.get("ownedByTrainer").members())
            for (const ref f : by.value.items())
                if (!f.as_string().ends_with(" (empty)")) fields.emplace(f.as_string());
        for (const std::string& f : fields)
            if (!owned[label].contains(f)) out.push_back({path + "/" + label + "/ownedByTrainer", "not owned: " + f});
        for (const std::string& f : owned[label])
            if (!fields.contains(f)) out.push_back({path + "/" + label + "/ownedByTrainer", "owned: " + f});
    }
    for (const auto& m : actual.view().members()) {
        if (m.key() != "Events" && !expected.contains(m.key()))
            out.push_back({path + "/" + std::string(m.key()), "not expected"});
    }
    std::set<std::string> told;
    std::set<std::string> heard;
    const ref recorded_events = expected.get("Events").is_array() ? expected.get("Events") : last_["Events"];
    if (expected.contains("Events"))
        for (const ref e : recorded_events.items()) told.insert(event_text(e));
    // The reference has one event; ours tells of the life of a job, too.
    for (const ref e : actual.get("Events").items())
        if (e.get("reason").as_string() == "TrainJobResourcesCreationFailed") heard.insert(event_text(e));
    if (told != heard) {
        out.push_back({path + "/Events", "expected " + (told.empty() ? "none" : *told.begin()) + ", got " +
                                             (heard.empty() ? "none" : doc::to_json(actual.get("Events")))});
    }
    co_return out;
}

awaitable<editor> live_case::snapshot(doc::arena* memory, std::map<std::string, std::set<std::string>>* owned) {
    editor out = editor::object(*memory);
    golden::normaliser normal(*memory, case_);
    for (const live_kind& k : live_kinds) {
        const auto answer = co_await stage_.api->list(k.of, k.of.namespaced ? ns_ : "");
        if (!answer) {
            differences_.push_back({"/list " + std::string(k.label), answer.error().message});
            continue;
        }
        const auto raw = doc::parse_json_copy(*memory, answer->body);
        for (const ref item : raw->get("items").items()) {
            const std::string name(item.get({"metadata", "name"}).as_string());
            if (!k.of.namespaced && !name.starts_with(prefix_ + "-")) continue;
            learn_uids(item, k.of.kind);
            const auto read = doc::parse_json_copy(*memory, recorded(doc::to_json(item)));
            editor document = editor::of(*memory, *read);
            document.set("kind", k.of.kind).set("apiVersion", k.api_version);
            const std::string label = std::string(k.label) + ":" + recorded(name);
            out.set(label, normal.object(document));
            (*owned)[label] = owned_by_trainer(document);
            if (k.of.kind == "ConfigMap") (*owned)[label].erase("immutable");  // difference 33: the runtime snapshot
        }
    }
    const auto answer = co_await stage_.api->list(events, ns_);
    const auto raw = doc::parse_json_copy(*memory, answer ? answer->body : "{}");
    editor list = out.ensure_array("Events");
    for (const ref e : raw->get("items").items()) {
        list.append_object()
            .set("type", e.get("type"))
            .set("reason", e.get("reason"))
            .set("action", e.get("action"))
            .set("from", e.get("reportingController"))
            .set("note", e.get("note"))
            .set("regarding", std::string(e.get({"regarding", "kind"}).as_string()) + " " +
                                  recorded(std::string(e.get({"regarding", "name"}).as_string())));
    }
    co_return out;
}

}  // namespace cotrain::parity
