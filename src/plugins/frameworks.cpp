// Frameworks that need no more than variables, and runtimes without one: their environment, image, command and
// resources reach the container through the jobset plugin.
#include <algorithm>
#include <limits>
#include <string>

#include "api/names.hpp"
#include "plugins/builtin.hpp"
#include "runtime/guards.hpp"

namespace cotrain::plugins {

namespace names = api::names;

// The variables that jax.distributed.initialize() reads.
base::result<> jax::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    if (i.ml() == nullptr || !i.ml()->jax) return {};
    runtime::scale_trainer(i, job);
    runtime::container trainer = i.trainer_container();
    const auto rank = i.rank_field();
    if (!trainer || !rank) return {};
    trainer.put_env(names::env_jax_processes, std::to_string(i.nodes()));
    trainer.put_env_field(names::env_jax_id, *rank);
    trainer.put_env(names::env_jax_coordinator, i.master().text() + ":" + std::string(names::trainer_port_text));
    trainer.put_port(names::trainer_port);
    return {};
}

// The variables that Rabit's workers and tracker read.
base::result<> xgboost::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    if (i.ml() == nullptr || !i.ml()->xgboost) return {};
    runtime::scale_trainer(i, job);
    runtime::container trainer = i.trainer_container();
    const auto rank = i.rank_field();
    if (!trainer || !rank) return {};
    // Quantities may be beyond all machines: the product is to stay a number.
    constexpr std::int64_t workers_per_node_max = std::numeric_limits<std::int32_t>::max();
    const std::int64_t per_node =
        std::clamp<std::int64_t>(runtime::gpus_of(i.trainer_resources()), 1, workers_per_node_max);
    trainer.put_env(names::env_xgboost_uri, i.master().text());
    trainer.put_env(names::env_xgboost_port, names::trainer_port_text);
    trainer.put_env_field(names::env_xgboost_task, *rank);
    trainer.put_env(names::env_xgboost_workers, std::to_string(i.nodes() * per_node));
    trainer.put_port(names::trainer_port);
    return {};
}

void xgboost::validate(const runtime::info& i, const runtime::review& r, runtime::verdict& out) const {
    if (i.ml() == nullptr || !i.ml()->xgboost || !r.job.spec.trainer) return;
    std::size_t index = 0;
    for (const doc::ref entry : r.job.spec.trainer->env.items()) {
        const std::string path = "spec.trainer.env[" + std::to_string(index++) + "]";
        const auto variable = entry.get("name").as_string();
        if (!std::ranges::contains(names::xgboost_reserved_env, variable)) continue;
        out.forbidden(path, std::string(variable) + " is reserved for the XGBoost runtime");
    }
}

base::result<> plainml::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const api::ml_policy* const ml = i.ml();
    const bool framework = ml != nullptr && (ml->torch || ml->mpi || ml->jax || ml->xgboost || ml->flux);
    if (!framework) runtime::scale_trainer(i, job);
    return {};
}

}  // namespace cotrain::plugins
