// Keeps run.hpp compilable on its own.
#include "support/run.hpp"
