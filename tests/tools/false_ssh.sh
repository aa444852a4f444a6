#!/bin/sh
# As ssh: HOST COMMAND, but here. EXS_FALSE_SSH is a folder that gets HOST.pid. What goes wrong with hosts of these names:
#   babbling* has a shell that writes something when it starts
#   mute*     never answers
#   relayed*  the command at the other end of two processes, HOST.in and HOST.out, which can be killed
#   net*      is in the network namespace exs-$EXS_FALSE_SSH_NET-HOST
# SPDX-License-Identifier: BSD-2-Clause
host=$1
shift
case $host in
  babbling*) echo "Welcome to $host." ;;
  mute*) cat >/dev/null; exit ;;
  relayed*)
    exec 3<&0
    sh -c 'echo $$ > "$0"; exec cat' "$EXS_FALSE_SSH/$host.in" <&3 | sh -c "$*" | sh -c 'echo $$ > "$0"; exec cat' "$EXS_FALSE_SSH/$host.out" &
    exec 3<&- >/dev/null
    wait
    exit ;;
  net*) exec ip netns exec "exs-$EXS_FALSE_SSH_NET-$host" sh -c "exec $*" ;;
esac
echo $$ > "$EXS_FALSE_SSH/$host.pid"
exec sh -c "exec $*"
