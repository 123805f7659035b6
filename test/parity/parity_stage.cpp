// Setting the stage.
#include "parity/parity_stage.hpp"

#include <stdexcept>

#include "crd/crd.hpp"
#include "doc/json.hpp"
#include "integration/control.hpp"

namespace cotrain::parity {

namespace {

constexpr kube::resource definitions{"apiextensions.k8s.io", "v1", "customresourcedefinitions",
                                     "CustomResourceDefinition", false};
constexpr kube::resource volcano{"scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup", true};

// Volcano's PodGroup without a schema: all that the cases need of it.
constexpr std::string_view volcano_definition = R"({
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "podgroups.scheduling.volcano.sh"},
  "spec": {
    "group": "scheduling.volcano.sh", "scope": "Namespaced",
    "names": {"kind": "PodGroup", "plural": "podgroups", "singular": "podgroup", "listKind": "PodGroupList"},
    "versions": [{"name": "v1beta1", "served": true, "storage": true, "subresources": {"status": {}},
      "schema": {"openAPIV3Schema": {"type": "object", "properties": {
        "spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}})";

}  // namespace

void activity::touch(watch::text_id key) {
    const std::string_view text = texts_.view(key);
    const std::size_t slash = text.find('/');
    const std::string_view ns = text.substr(0, slash);
    const std::string_view name = text.substr(slash + 1);
    last_[std::string(ns.empty() ? name.substr(0, name.find('-')) : ns)] = clock::now();
}

clock::time_point activity::last(const std::string& ns, const std::string& prefix) const {
    clock::time_point out{};
    for (const std::string& key : {ns, prefix}) {
        const auto found = last_.find(key);
        if (found != last_.end() && found->second > out) out = found->second;
    }
    return out;
}

stage::stage(asio::io_context& l) : loop(l), watching_(l.get_executor()) {
    auto made = kube::client::make(loop.get_executor(), test::real_cluster(), {}, base::null_logger());
    if (!made) throw std::runtime_error(made.error().message);
    api = std::move(*made);
}

// Applied, and asked for until it is served.
awaitable<bool> stage::define(std::string crd, kube::resource served) {
    const kube::resource of = served;
    const std::string name = std::string(of.plural).append(".").append(of.group);
    const auto done = co_await api->apply(definitions, {.name = name}, std::move(crd), true, {.field_manager = "test"});
    if (!done) co_return false;
    const auto due = clock::now() + std::chrono::seconds(60);
    while (clock::now() < due)
        if (co_await api->list(of, "", {.limit = 1})) co_return true;
    co_return false;
}

awaitable<bool> stage::open() {
    for (const crd::definition& each : crd::definitions()) {
        doc::arena memory;
        const api::resource_type& t = each.resource;
        const std::string crd = doc::to_json(crd::make_crd(memory, each));
        if (!co_await define(crd, {t.group, t.version, t.plural, t.kind, t.namespaced})) co_return false;
    }
    if (!co_await define(std::string(volcano_definition), volcano)) co_return false;
    watchers_ = std::make_unique<watch::informers>(
        watch::informer_tools{watching_, *api, texts, changes, random_, base::null_logger()});
    watchers_->start();
    if (!co_await watchers_->ready()) co_return false;
    admission_ = std::make_unique<admission>(*api);
    if (!co_await admission_->install()) co_return false;
    child = std::make_unique<test::operator_child>(loop, admission_->config());
    if (!co_await child->said("\"leading\"")) co_return false;
    co_return co_await admission_->serves();
}

awaitable<void> stage::close() {
    if (admission_) co_await admission_->remove();
    if (child) static_cast<void>(co_await child->stop());
    watching_.cancel();
    co_await watching_.join();
    co_await api->stop();
}

}  // namespace cotrain::parity
