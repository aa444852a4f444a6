#!/bin/sh
# Four ranks, and one alone: run-Ring.sh [EXS-RUN EXS.JAR FOLDER-OF-LIBEXS-JAVA], which are those of the release build unless said otherwise.
# SPDX-License-Identifier: BSD-2-Clause
set -eu
here=$(dirname "$(readlink -f "$0")")
build=$here/../build/release
run=${1:-$build/bin/exs-run}
jar=${2:-$build/lib/exs.jar}
library=${3:-$build/lib}
classes=$(mktemp -d)
trap 'rm -r "$classes"' EXIT
javac -cp "$jar" -d "$classes" "$here/Ring.java"
ring() { "$@" java -Djava.library.path="$library" -cp "$jar:$classes" Ring; }
four=$(ring "$run" -n 4)
echo "$four"
[ "$four" = "4 ranks; the number came from rank 3" ]
[ "$(ring env)" = "1 ranks; the number came from rank 0" ]
