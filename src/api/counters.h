// The counters of sessions, as exs_getstats reports them.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "event/session/session.h"
#include "exs/exs.h"

namespace exs {

exs_stats_t session_stats(Session& session);
// Thread: shard.
exs_stats_t stats_on_shard(const Session& session);
void add_stats(exs_stats_t& sum, const exs_stats_t& part);

}  // namespace exs
