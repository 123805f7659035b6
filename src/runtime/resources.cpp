// Arithmetic on the resources of containers and pods.
#include "runtime/resources.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "api/tree_builder.hpp"
#include "runtime/merge.hpp"
#include "runtime/normalise.hpp"
#include "runtime/schema.hpp"

namespace cotrain::runtime {
namespace {

using api::quantity;
using api::ref;

constexpr std::string_view preferred_gpu = "nvidia.com/gpu";

bool names_gpu(std::string_view name) {
    constexpr std::array gpu{'g', 'p', 'u'};
    const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
    return std::ranges::search(name, gpu, {}, lower).begin() != name.end();
}

// Whole units of the GPU resource that counts; 0 without one or if it cannot be read.
std::int64_t gpus_among(ref amounts) {
    const api::member* best = nullptr;
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

ref resource_list::document(api::arena& memory) const {
    api::tree_builder out(memory);
    const std::size_t mark = out.mark();
    for (const auto& [name, amount] : entries_) {
        out.push(ref::make_string(memory.copy(name)));
        out.push(ref::make_plain_string(memory.copy(amount.to_string())));
    }
    return out.close(api::kind::object, mark);
}

base::result<ref> merge_resources(api::arena& memory, ref base, ref over, std::string_view path) {
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
