// Keys and tokens in memory stay in memory.
#pragma once

namespace cotrain::app {

// From here on this process leaves no core file, and nobody without CAP_SYS_PTRACE attaches to it or reads its memory,
// other processes of its user included. Programs that it starts are not bound by the second.
void keep_memory_private();

}  // namespace cotrain::app
