// What an API server would refuse of every Job that is made, told when the TrainJob comes in.
#pragma once

#include "runtime/info.hpp"
#include "runtime/verdict.hpp"

namespace cotrain::plugins {

// By the API server's own rules for Pod templates and indexed Jobs: containers without an image, requests that do not
// go with limits, host names that are too long. The reference takes such jobs, which stay without Pods: so they are
// warned of, and only a part of a device in spec.trainer is refused. On update only where the templates change.
void check_pod_templates(const runtime::info& i, const runtime::review& r, runtime::verdict& out);

// Warns of a section spec.trainer, or members of it, that change nothing with this runtime.
void warn_of_ignored_trainer(const runtime::info& i, const runtime::review& r, runtime::verdict& out);

}  // namespace cotrain::plugins
