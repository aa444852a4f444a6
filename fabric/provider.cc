// The entry point that libfabric finds in libexs-fi.so.
// SPDX-License-Identifier: BSD-2-Clause
#include <rdma/providers/fi_prov.h>

#include "fabric/fabric.h"
#include "fabric/offer.h"

namespace exs::fabric {
namespace {

fi_provider provider = {.version = kVersion,
                        .fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
                        .context = {},
                        .name = kName,
                        .getinfo = get_info,
                        .fabric = open_fabric,
                        .cleanup = [] {}};

}  // namespace
}  // namespace exs::fabric

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini() {
  return &exs::fabric::provider;
}
