// What the kernel says about this process, under the names every client library uses.
#pragma once

#include "serve/exposition.hpp"

namespace cotrain::serve {

void write_process_metrics(exposition& to);

}  // namespace cotrain::serve
