#include "app/cluster_objects.hpp"

#include <utility>

#include "doc/edit.hpp"
#include "doc/json.hpp"

namespace cotrain::app {

namespace {

kube::resource resource_of(const api::resource_type& type) {
    return {type.group, type.version, type.plural, type.kind, type.namespaced};
}

}  // namespace

awaitable<base::result<doc::ref>> cluster_objects::get(const api::resource_type* type, std::string ns,
                                                       std::string name) {
    const kube::location at{.ns = type->namespaced ? std::string_view(ns) : std::string_view(), .name = name};
    const bool secret = type->kind == api::names::secret.kind;
    auto got = co_await api_.get(resource_of(*type), at, {.as = secret ? kube::shape::metadata : kube::shape::whole});
    if (!got && got.error().http_status == 404) co_return doc::ref{};
    if (!got) co_return base::fail(std::move(got.error()));
    const auto document = doc::parse_json_copy(memory_, got->body);
    if (!secret || !document) co_return document;
    // One that a user made: whether it can be used shows in its data.
    if (document->get({"metadata", "ownerReferences"}).empty()) {
        got = co_await api_.get(resource_of(*type), at);
        if (!got) co_return base::fail(std::move(got.error()));
        co_return doc::parse_json_copy(memory_, got->body);
    }
    doc::editor out = doc::editor::of(memory_, *document);
    out.set("apiVersion", type->api_version).set("kind", type->kind);
    co_return doc::freeze(memory_, out);
}

awaitable<std::vector<found_object>> cluster_objects::children(std::span<const runtime::child> of, std::string ns,
                                                               std::string job) {
    std::vector<found_object> out;
    for (const runtime::child& each : of) {
        found_object one{each.type, job + std::string(each.suffix), {}, {}};
        auto got = co_await get(each.type, ns, one.name);
        if (got && !*got && each.older != nullptr) {
            got = co_await get(each.older, ns, one.name);
            if (got && *got) one.type = each.older;
        }
        if (got) {
            one.document = *got;
        } else {
            one.trouble = std::move(got.error().message);
        }
        out.push_back(std::move(one));
    }
    co_return out;
}

awaitable<base::result<doc::ref>> cluster_objects::runtime_of(doc::ref train_job, std::string ns) {
    const doc::ref wanted = train_job.get({"spec", "runtimeRef"});
    const bool own = wanted.get("kind").as_string() == api::names::training_runtime_kind;
    co_return co_await get(own ? &api::names::training_runtime : &api::names::cluster_training_runtime, std::move(ns),
                           std::string(wanted.get("name").as_string()));
}

}  // namespace cotrain::app
