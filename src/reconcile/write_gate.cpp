// From what reconcilers want to the client's verbs.
#include "reconcile/write_gate.hpp"

#include <utility>

#include "reconcile/cluster.hpp"

namespace cotrain::reconcile {

namespace {

kube::resource resource_of(const api::resource_type& t) { return {t.group, t.version, t.plural, t.kind, t.namespaced}; }

std::unexpected<base::error> closed() {
    return base::fail(base::make_error(base::errc::canceled, base::retry::later, "another replica leads"));
}

base::result<std::string> body_of(base::result<kube::reply> answer) {
    if (!answer) return base::fail(std::move(answer.error()));
    return std::move(answer->body);
}

}  // namespace

awaitable<base::result<std::string>> write_gate::get(target at) {
    co_return body_of(co_await api_.get(resource_of(*at.type), {.ns = at.ns, .name = at.name}));
}

awaitable<base::result<std::string>> write_gate::apply(target at, std::string body) {
    const auto time = may_write_();
    if (!time) co_return closed();
    auto answer = co_await api_.apply(resource_of(*at.type), {.ns = at.ns, .name = at.name}, std::move(body), true,
                                      {.field_manager = api::names::field_manager, .with = {.deadline = *time}});
    apply_counts& counts = counts_[static_cast<std::size_t>(kind_of(*at.type))];
    if (answer) {
        ++counts.applied;
    } else {
        ++(answer.error().http_status == 409 ? counts.conflict : counts.error);
    }
    co_return body_of(std::move(answer));
}

awaitable<base::result<std::string>> write_gate::merge_patch(target at, std::string sub_resource, std::string body) {
    const auto time = may_write_();
    if (!time) co_return closed();
    co_return body_of(co_await api_.merge_patch(resource_of(*at.type), {.ns = at.ns, .name = at.name}, std::move(body),
                                                {.sub_resource = sub_resource, .with = {.deadline = *time}}));
}

awaitable<base::result<>> write_gate::remove(target at, std::string uid) {
    const auto time = may_write_();
    if (!time) co_return closed();
    auto answer =
        co_await api_.remove(resource_of(*at.type), {.ns = at.ns, .name = at.name},
                             {.dependents = kube::propagation::background, .uid = uid, .with = {.deadline = *time}});
    if (answer) co_return base::result<>{};
    // Gone, or another object by now (the uid does not match).
    const int status = answer.error().http_status;
    if (status == 404 || status == 409) co_return base::result<>{};
    co_return base::fail(std::move(answer.error()));
}

}  // namespace cotrain::reconcile
