# SPDX-License-Identifier: BSD-2-Clause
@0xd3f7a1c05e2b9468;

interface Ping {
  echo @0 (bytes :Data) -> (bytes :Data);
}
