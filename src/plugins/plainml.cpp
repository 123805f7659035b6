// The job's environment, image, command and resources reach the container through the jobset plugin.
#include "plugins/plainml.hpp"

#include "runtime/gang.hpp"

namespace cotrain::plugins {

base::result<> plainml::enforce_ml_policy(runtime::info& i, const api::train_job& job) const {
    const api::ml_policy* const ml = i.ml();
    const bool framework = ml != nullptr && (ml->torch || ml->mpi || ml->jax || ml->xgboost || ml->flux);
    if (!framework) runtime::scale_trainer(i, job);
    return {};
}

}  // namespace cotrain::plugins
