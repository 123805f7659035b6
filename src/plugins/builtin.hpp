// The built-in plugins in their order: the only place where it is written down.
#pragma once

#include "plugins/coscheduling.hpp"
#include "plugins/flux.hpp"
#include "plugins/jax.hpp"
#include "plugins/jobset.hpp"
#include "plugins/mpi.hpp"
#include "plugins/plainml.hpp"
#include "plugins/torch.hpp"
#include "plugins/trainjob_status.hpp"
#include "plugins/volcano.hpp"
#include "plugins/xgboost.hpp"
#include "runtime/framework.hpp"

namespace cotrain::plugins {

// Frameworks, what all of them share, gang schedulers; the JobSet last, so that its pods find everything in place.
using builtin =
    runtime::framework<torch, mpi, jax, xgboost, flux, plainml, trainjob_status, coscheduling, volcano, jobset>;

}  // namespace cotrain::plugins
