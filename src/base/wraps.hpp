// Marks functions whose unsigned arithmetic wraps on purpose: in the sanitizers' build it ends the program elsewhere.
#pragma once

#if defined(__clang__)
#define COTRAIN_WRAPS __attribute__((no_sanitize("integer")))
#else
#define COTRAIN_WRAPS
#endif
