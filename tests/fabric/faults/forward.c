/* A provider of libfabric that is the one inside the program which loads it: there kernel calls and allocations can fail. */
/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <rdma/providers/fi_prov.h>

__attribute__((visibility("default"))) struct fi_provider* fi_prov_ini(void);

struct fi_provider* fi_prov_ini(void) {
  struct fi_provider* (*inside)(void) = NULL;
  *(void**)&inside = dlsym(RTLD_DEFAULT, "fi_prov_ini");
  return inside == NULL ? NULL : inside();
}
