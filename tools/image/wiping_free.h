/* For a C library that keys and tokens pass through: what it gives back is wiped, as our own operator delete does. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static inline void wiping_free(void *block) {
  if (block != NULL) explicit_bzero(block, malloc_usable_size(block));
  free(block);
}

/* Never in place: what is left behind is wiped, too. */
static inline void *wiping_realloc(void *block, size_t bytes) {
  void *const moved = malloc(bytes);
  if (moved != NULL && block != NULL) {
    const size_t had = malloc_usable_size(block);
    memcpy(moved, block, had < bytes ? had : bytes);
    wiping_free(block);
  }
  return moved;
}

#define free wiping_free
#define realloc wiping_realloc
