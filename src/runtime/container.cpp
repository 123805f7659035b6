// Edits of containers, and sums over what they ask for.
#include "runtime/container.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <map>

#include "api/names.hpp"
#include "api/quantity.hpp"
#include "doc/tree_builder.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {
namespace {

using doc::editor;
using doc::ref;

// Longer lists of entries to put in are not searched for one by one.
constexpr std::size_t searched_entries_max = 16;

ref plain_source(doc::arena& memory, ref source) {
    editor out = editor::of(memory, source);
    if (editor field = out.child("fieldRef")) field.remove("apiVersion");
    if (editor resource = out.child("resourceFieldRef")) {
        resource.set_default("containerName", "");
        resource.set_default("divisor", "0");
        const ref divisor = resource.get("divisor");
        const auto normal = api::normal_quantity(divisor.text());  // what cannot be read is left to admission
        if (normal && (!divisor.is_string() || *normal != divisor.text())) resource.set("divisor", *normal);
    }
    for (const std::string_view key : {"configMapKeyRef", "secretKeyRef"}) {
        if (editor reference = out.child(key)) reference.set_default("name", "");
    }
    return out;
}

}  // namespace

ref plain_env_entry(doc::arena& memory, ref entry) {
    editor out = editor::of(memory, entry);
    if (!out) return entry;
    const ref source = entry.get("valueFrom");
    if (source.is_object()) {
        out.remove("value");
        out.set("valueFrom", plain_source(memory, source));
    } else {
        out.remove("valueFrom");
        out.set_default("value", "");
    }
    return out;
}

ref container::env(std::string_view variable) const {
    return document_.get("env").find_by("name", variable).get("value");
}

void container::put_env(doc::word variable, std::string_view value) {
    editor entry = editor::object(document_.memory());
    entry.set("name", variable).set("value", value);
    document_.ensure_array("env").upsert_by({"name"}, entry);
}

void container::put_env_default(doc::word variable, std::string_view value) {
    if (!document_.get("env").find_by("name", variable.text())) put_env(variable, value);
}

void container::put_env_field(doc::word variable, doc::word field_path) {
    editor entry = editor::object(document_.memory());
    entry.set("name", variable).ensure_object({"valueFrom", "fieldRef"}).set("fieldPath", field_path);
    document_.ensure_array("env").upsert_by({"name"}, entry);
}

void container::put_env_list(ref entries) {
    if (entries.empty()) return;
    editor env = document_.ensure_array("env");
    if (entries.size() <= searched_entries_max) {
        for (const ref entry : entries.items()) env.upsert_by({"name"}, plain_env_entry(document_.memory(), entry));
        return;
    }
    std::map<std::string_view, std::size_t> places;
    for (std::size_t i = 0; i < env.size(); ++i) places.try_emplace(env.at(i).get("name").as_string(), i);
    for (const ref entry : entries.items()) {
        const ref plain = plain_env_entry(document_.memory(), entry);
        const auto [place, is_new] = places.try_emplace(plain.get("name").as_string(), env.size());
        if (is_new) {
            env.append(plain);
        } else {
            env.replace(place->second, plain);
        }
    }
}

void container::put_port(std::int32_t number) {
    editor port = editor::object(document_.memory());
    port.set("containerPort", number);
    document_.ensure_array("ports").upsert_by({"containerPort"}, port);
}

void container::put_mount(std::string_view volume, std::string_view path, bool read_only) {
    editor mount = editor::object(document_.memory());
    mount.set("name", volume).set("mountPath", path);
    if (read_only) mount.set("readOnly", true);
    document_.ensure_array("volumeMounts").upsert_by({"mountPath"}, mount);
}

void container::set_image(std::string_view image) { document_.set("image", image); }

void container::set_command(ref words) {
    if (words.empty()) {
        document_.remove("command");
    } else {
        document_.set("command", words);
    }
}

void container::set_args(ref words) {
    if (words.empty()) {
        document_.remove("args");
    } else {
        document_.set("args", words);
    }
}

void container::add_secret_env(std::string_view secret) {
    editor entry = editor::object(document_.memory());
    entry.ensure_object("secretRef").set("name", secret);
    document_.ensure_array("envFrom").append(entry);
}

void container::set_resources(ref resources) { document_.set("resources", resources); }

editor put_volume(editor pod_spec, std::string_view name, std::string_view source) {
    editor volume = editor::object(pod_spec.memory());
    volume.set("name", name);
    editor filled = volume.ensure_object(source);
    pod_spec.ensure_array("volumes").upsert_by({"name"}, volume);
    return filled;
}

api::process_count wanted_processes(const api::train_job& job) {
    using api::process_count;
    if (job.spec.trainer && job.spec.trainer->num_proc_per_node.is_set()) return job.spec.trainer->num_proc_per_node;
    const auto kept = job.meta.annotation(api::names::num_proc_annotation);
    for (const auto word : {process_count::form::cpu, process_count::form::gpu}) {
        if (kept == to_string(word)) return {.kind = word, .written_as_text = true};
    }
    return {};
}

namespace {

using api::quantity;

constexpr std::string_view preferred_gpu = "nvidia.com/gpu";

bool names_gpu(std::string_view name) {
    constexpr std::array gpu{'g', 'p', 'u'};
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::search(name, gpu, {}, lower).begin() != name.end();
}

// Whole units of the GPU resource that counts; 0 without one or if it cannot be read.
std::int64_t gpus_among(ref amounts) {
    const doc::member* best = nullptr;
    for (const auto& m : amounts.members()) {
        if (!names_gpu(m.key())) continue;
        if (m.key() == preferred_gpu) {
            best = &m;
            break;
        }
        if (best == nullptr || m.key() < best->key()) best = &m;
    }
    if (best == nullptr) return 0;
    const auto amount = quantity::parse(best->value);
    return amount ? amount->value() : 0;
}

// Without those of `known`.
base::result<resource_list> read_amounts(ref amounts, const resource_list& known) {
    std::vector<resource_list::entry> list;
    list.reserve(amounts.size());
    for (const auto& m : amounts.members()) {
        if (known.find(m.key()) != nullptr) continue;
        auto amount = quantity::parse(m.value);
        if (!amount) return base::fail(std::move(amount.error()).during("resource " + std::string(m.key())));
        list.emplace_back(m.key(), *amount);
    }
    return resource_list(std::move(list));
}

// Only these count on the level of the pod (KEP-2837).
bool pod_level(std::string_view name) { return name == "cpu" || name == "memory" || name.starts_with("hugepages-"); }

}  // namespace

resource_list::resource_list(std::vector<entry> entries) : entries_(std::move(entries)) {
    std::ranges::sort(entries_, {}, &entry::first);
}

// Lays `other` over this: entries of both are given to `both`, the rest is taken as it is.
template <class F>
void resource_list::join(const resource_list& other, const F& both) {
    std::vector<entry> all;
    all.reserve(entries_.size() + other.entries_.size());
    auto mine = entries_.begin();
    for (const entry& theirs : other.entries_) {
        while (mine != entries_.end() && mine->first < theirs.first) all.push_back(std::move(*mine++));
        if (mine == entries_.end() || mine->first != theirs.first) {
            all.push_back(theirs);
            continue;
        }
        both(mine->second, theirs.second);
        all.push_back(std::move(*mine++));
    }
    std::move(mine, entries_.end(), std::back_inserter(all));
    entries_ = std::move(all);
}

quantity& resource_list::at(std::string_view name, bool& is_new) {
    const auto place = std::ranges::lower_bound(entries_, name, {}, &entry::first);
    is_new = place == entries_.end() || place->first != name;
    return is_new ? entries_.insert(place, {std::string(name), quantity{}})->second : place->second;
}

const quantity* resource_list::find(std::string_view name) const {
    const auto place = std::ranges::lower_bound(entries_, name, {}, &entry::first);
    return place == entries_.end() || place->first != name ? nullptr : &place->second;
}

void resource_list::set(std::string_view name, const quantity& amount) {
    bool is_new = false;
    at(name, is_new) = amount;
}

void resource_list::add(const resource_list& other) {
    if (other.empty()) return;
    join(other, [](quantity& sum, const quantity& amount) { sum += amount; });
}

void resource_list::add_missing(const resource_list& other) {
    join(other, [](quantity&, const quantity&) {});
}

void resource_list::raise_to(const resource_list& other) {
    if (other.empty()) return;
    join(other, [](quantity& most, const quantity& amount) {
        if (most < amount) most = amount;
    });
}

void resource_list::multiply(std::int64_t factor) {
    for (auto& [name, amount] : entries_) amount *= factor;
}

const std::string* resource_list::overflowed() const {
    const auto found = std::ranges::find_if(entries_, [](const entry& e) { return e.second.overflowed(); });
    return found == entries_.end() ? nullptr : &found->first;
}

ref resource_list::document(doc::arena& memory) const {
    doc::tree_builder out(memory);
    const std::size_t mark = out.mark();
    for (const auto& [name, amount] : entries_) {
        out.push(ref::make_string(memory.copy(name)));
        out.push(ref::make_plain_string(memory.copy(amount.to_string())));
    }
    return out.close(doc::kind::object, mark);
}

base::result<ref> merge_resources(doc::arena& memory, ref base, ref over, std::string_view path) {
    const auto normal = normalise(memory, over, schema::resource_requirements, path);
    if (!normal) return normal;
    const ref below = base.is_object() ? base : ref::empty_object();
    return strategic_merge(memory, below, *normal, schema::resource_requirements);
}

base::result<resource_list> requests_of(ref resources) {
    auto out = read_amounts(resources.get("requests"), {});
    if (!out) return out;
    const auto limits = read_amounts(resources.get("limits"), *out);
    if (!limits) return base::fail(limits.error());
    if (!limits->empty()) out->add_missing(*limits);
    return out;
}

base::result<resource_list> pod_requests(ref pod_spec) {
    resource_list sum;
    for (const ref container : pod_spec.get("containers").items()) {
        auto wanted = requests_of(container.get("resources"));
        if (!wanted) return wanted;
        sum.add(*wanted);
    }
    resource_list sidecars;  // init containers that stay (KEP-753)
    resource_list most;
    for (const ref container : pod_spec.get("initContainers").items()) {
        auto wanted = requests_of(container.get("resources"));
        if (!wanted) return wanted;
        if (container.get("restartPolicy").as_string() == "Always") {
            sum.add(*wanted);
            sidecars.add(*wanted);
            most.raise_to(sidecars);
        } else {
            wanted->add(sidecars);
            most.raise_to(*wanted);
        }
    }
    sum.raise_to(most);
    auto whole = requests_of(pod_spec.get("resources"));
    if (!whole) return whole;
    for (const auto& [name, amount] : whole->entries()) {
        if (pod_level(name)) sum.set(name, amount);
    }
    const auto overhead = read_amounts(pod_spec.get("overhead"), {});
    if (!overhead) return base::fail(overhead.error());
    sum.add(*overhead);
    return sum;
}

std::int64_t gpus_of(ref resources) {
    const std::int64_t requested = gpus_among(resources.get("requests"));
    return requested != 0 ? requested : std::max<std::int64_t>(gpus_among(resources.get("limits")), 0);
}

std::int64_t cpus_of(ref resources) {
    for (const std::string_view list : {"requests", "limits"}) {
        const auto amount = quantity::parse(resources.get({list, "cpu"}));
        if (amount && !amount->is_zero()) return amount->value();
    }
    return 0;
}

}  // namespace cotrain::runtime
