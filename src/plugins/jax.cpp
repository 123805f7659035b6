// The variables that jax.distributed.initialize() reads.
#include "plugins/jax.hpp"

#include <string>

#include "api/names.hpp"
#include "runtime/gang.hpp"

namespace cotrain::plugins {

namespace names = api::names;

base::result<> jax::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    if (i.ml() == nullptr || !i.ml()->jax) return {};
    runtime::scale_trainer(i, job);
    runtime::container trainer = i.trainer_container();
    const auto rank = i.rank_field();
    if (!trainer || !rank) return {};
    trainer.put_env(names::env_jax_processes, std::to_string(i.nodes()));
    trainer.put_env_field(names::env_jax_id, *rank);
    trainer.put_env(names::env_jax_coordinator, i.master_address() + ":" + std::string(names::trainer_port_text));
    trainer.put_port(names::trainer_port);
    return {};
}

}  // namespace cotrain::plugins
