// The output of exs-explain --sockets.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/explain/sockets_survey.h"

namespace explain {

void print(const SocketsSurvey& survey, bool json);

}  // namespace explain
