#!/usr/bin/env bash
# Installs into a fresh prefix, moves it, and uses it from there: by pkg-config shared and static, and by
# find_package.   install.sh BUILD-FOLDER SOURCE-FOLDER LIBDIR C-COMPILER
# SPDX-License-Identifier: BSD-2-Clause
set -euo pipefail
build=$1 source=$2 libdir=$3 cc=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR='' cmake --install "$build" --strip --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
prefix=$work/moved
mv "$work/first" "$prefix" # nothing installed may know where it was

fail() { echo "install: $*"; exit 1; }

for file in "$libdir/libexs.so" "$libdir/libexs.so.0" "$libdir/libexs.a" "$libdir/pkgconfig/exs.pc" \
  include/exs/exs.h include/exs/exs.hpp include/exs/cpp/loop.hpp include/ibvx/ibvx.h include/sys/exs.h share/man/man7/exs.7 share/man/man3/exs_send.3 \
  share/doc/exs/LICENSE share/doc/exs/README.md; do
  [[ -e $prefix/$file ]] || fail "$file is not there"
done
for page in "$source"/man/*.[1-8]; do
  name=${page##*/}
  [[ -e $prefix/share/man/man${name##*.}/$name ]] || fail "manual page $name is not there"
done
for program in "$prefix"/bin/*; do
  [[ ! -e $program || -e $prefix/share/man/man1/${program##*/}.1 ]] || fail "${program##*/} has no manual page"
done
if readelf -S "$prefix/$libdir/libexs.so" "$prefix"/bin/* | grep -F .debug_; then fail "--strip leaves debug information"; fi
python3 "$source/tests/house/links.py" "$prefix/share/doc/exs" || fail "documents name what is not installed"
# Each finds its libraries from where it lies.
for file in "$prefix"/bin/* "$prefix/$libdir"/libexs*.so "$prefix/$libdir"/libfabric/*.so; do
  if [[ $(env -u LD_LIBRARY_PATH ldd "$file" 2>&1) == *libexs*'not found'* ]]; then fail "${file##*/} does not find its libraries"; fi
done
env -u LD_LIBRARY_PATH "$prefix/bin/exs-ping" --version
if grep -rIl -e "$build" -e "$work/first" "$prefix"; then fail "the files above name the place they were made in"; fi

cat >"$work/use.c" <<'PROGRAM'
#include <exs/exs.h>
#include <stdio.h>
int main(void) {
  if (exs_init(EXS_VERSION) != 0) return 1;
  printf("exs %s\n", exs_version_string());
  return exs_fini();
}
PROGRAM

export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
version=$(pkg-config --modversion exs)
expect() { # name, command...
  local said
  said=$("${@:2}") || fail "$1 program failed"
  [[ $said == "exs $version" ]] || fail "$1 program said '$said', exs.pc says $version"
  echo "$1: $said"
}

# Word splitting is what pkg-config's answer is made for.
# shellcheck disable=SC2046
"$cc" -Wall -Werror "$work/use.c" -o "$work/use-shared" $(pkg-config --cflags --libs exs)
expect shared env LD_LIBRARY_PATH="$prefix/$libdir" "$work/use-shared"

cat >"$work/demo.x" <<INTERFACE
program DEMO { version ONE { int TWICE(int) = 1; } = 1; } = 0x20000001;
INTERFACE
"$prefix/bin/exs-rpcgen" --output="$work" "$work/demo.x"
echo '#include "demo_exs.h"
int twice_1_serve(int argument, int *result, exs_rpc_request_t *request) { (void)request; return *result = 2 * argument, 0; }
int main(void) { return demo_one_open(0, 0, 0) == 0 && demo_one_service.interface == &demo_one_interface ? 0 : 1; }' >"$work/demo.c"
# shellcheck disable=SC2046
"$cc" -Wall -Wextra -Werror "$work"/demo*.c -o "$work/demo" $(pkg-config --cflags --libs exs-rpc)
LD_LIBRARY_PATH=$prefix/$libdir "$work/demo" || fail "program of exs-rpc"

if [[ -e $prefix/$libdir/libexs-service.so ]]; then
  echo '#include <exs/service.h>
int main(void) { exs_svc_node_t *node = exs_svc_node_open(0); exs_svc_node_close(node); return node == 0; }' >"$work/service.c"
  # shellcheck disable=SC2046
  "$cc" -Wall -Werror "$work/service.c" -o "$work/service" $(pkg-config --cflags --libs exs-service)
  LD_LIBRARY_PATH=$prefix/$libdir "$work/service" || fail "program of exs-service"
fi

if [[ -e $prefix/$libdir/libexs-sunrpc.so ]]; then
  echo '#include <rpc/rpc.h>
#include <exs/sunrpc.h>
int main(void) { return exs_sunrpc_attach(NULL) == -1 ? 0 : 1; }' >"$work/rpc.c"
  # shellcheck disable=SC2046
  "$cc" -Wall -Werror "$work/rpc.c" -o "$work/rpc" $(pkg-config --cflags --libs exs-sunrpc)
  needed=$(readelf -d "$work/rpc")
  [[ $(grep -o -m 1 -e sunrpc -e tirpc <<<"$needed") == sunrpc ]] || fail "libtirpc comes first"
  LD_LIBRARY_PATH=$prefix/$libdir "$work/rpc" || fail "program of exs-sunrpc"
fi

mkdir "$work/cmake"
cp "$work/use.c" "$work/cmake"
cat >"$work/cmake/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(use LANGUAGES C)
find_package(exs $version REQUIRED)
add_executable(use-package use.c)
target_link_libraries(use-package PRIVATE exs::exs)
add_executable(use-package-static use.c)
target_link_libraries(use-package-static PRIVATE exs::exs_static)
PROJECT
{ cmake -S "$work/cmake" -B "$work/cmake/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" &&
  cmake --build "$work/cmake/build"; } >"$work/cmake.log" 2>&1 || { cat "$work/cmake.log"; fail "find_package"; }
expect find_package "$work/cmake/build/use-package"
expect find_package-static "$work/cmake/build/use-package-static"

{ cmake -S "$prefix/share/doc/exs/examples" -B "$work/examples" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" &&
  cmake --build "$work/examples" --parallel 2; } >"$work/examples.log" 2>&1 || { cat "$work/examples.log"; fail "examples"; }
PATH=$prefix/bin:$PATH ctest --test-dir "$work/examples" --output-on-failure --tests-regex '^(double_buffer|ring|directory.*)$' \
  --no-tests=error >"$work/examples.log" || { cat "$work/examples.log"; fail "run-NAME.sh of examples"; }

mkdir "$work/meson"
cp "$work/use.c" "$work/meson"
cat >"$work/meson/meson.build" <<PROJECT
project('use', 'c')
executable('use', 'use.c', dependencies: dependency('exs', version: '>= $version'))
PROJECT
if command -v meson >/dev/null; then
  { CC=$cc meson setup "$work/meson/build" "$work/meson" && ninja -C "$work/meson/build"; } >"$work/meson.log" 2>&1 ||
    { cat "$work/meson.log"; fail meson; }
  expect meson env LD_LIBRARY_PATH="$prefix/$libdir" "$work/meson/build/use"
else
  echo "skipped: meson is not here (scripts/setup test)"
fi

# Each library that exs.pc names for libexs.a is there, shared or as an archive.
for library in $(pkg-config --static --libs-only-l exs); do
  name=lib${library#-l}
  [[ $name == libexs || -e $("$cc" -print-file-name="$name.so") || -e $("$cc" -print-file-name="$name.a") ]] ||
    fail "exs.pc names $library, which is not here"
done

# Without further words: optimised, no debug information, tools and no tests. Without RDMA: nothing of rdma-core.
configure() { cmake -S "$source" -B "$1" -G Ninja "${@:2}" >"$1.log" 2>&1 || { cat "$1.log"; fail "$*"; }; }
configure "$work/plain"
grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' "$work/plain/CMakeCache.txt" || fail "a plain build is no Release"
if grep -qE '^ *FLAGS = .* -g' "$work/plain/build.ninja"; then fail "a plain build has debug information"; fi
grep -q 'bin/exs-ping:' "$work/plain/build.ninja" || fail "a plain build has no tools"
if grep -q 'bin/tests-' "$work/plain/build.ninja"; then fail "a plain build has tests"; fi
# What is not built is named, with the command that builds it, before anything is installed.
if cmake --install "$work/plain" --prefix "$work/too-early" >"$work/early.log" 2>&1; then fail "installs what is not built"; fi
for said in libexs.a exs-ping "cmake --build $work/plain"; do
  grep -qF "$said" "$work/early.log" || { cat "$work/early.log"; fail "too early an installation does not name $said"; }
done
[[ ! -e $work/too-early ]] || fail "too early an installation leaves files"
# So is every library that is missing, with Debian's packages and what goes without.
if PKG_CONFIG_LIBDIR=/nowhere cmake -S "$source" -B "$work/bare" -G Ninja >"$work/bare.log" 2>&1; then fail "needs no libraries"; fi
for said in liburing-dev libisal-dev librdmacm-dev EXS_WITH_VERBS=OFF; do
  grep -qF -e "$said" "$work/bare.log" || { cat "$work/bare.log"; fail "without libraries cmake does not name $said"; }
done
configure "$work/lean" -DEXS_WITH_VERBS=OFF -DEXS_BUILD_TOOLS=OFF
if grep -oE 'lib(ibverbs|rdmacm|mnl)[.]|provider/verbs/[^ ]*[.]cc' "$work/lean/build.ninja"; then fail "EXS_WITH_VERBS=OFF needs rdma-core"; fi
if grep -E '^Libs.*(ibverbs|rdmacm|mnl)' "$work/lean/exs.pc"; then fail "exs.pc names rdma-core without it"; fi

# As a folder of another project (FetchContent does the same): the names of the package, and no tools.
mkdir "$work/folder"
cp "$work/use.c" "$work/folder"
cat >"$work/folder/CMakeLists.txt" <<PROJECT
cmake_minimum_required(VERSION 3.25)
project(use LANGUAGES C CXX)
add_subdirectory($source exs)
add_executable(use use.c)
target_link_libraries(use PRIVATE exs::exs)
add_executable(use-static use.c)
target_link_libraries(use-static PRIVATE exs::exs_static)
add_executable(use-rpc use.c)
target_link_libraries(use-rpc PRIVATE exs::exs_rpc)
PROJECT
cmake -S "$work/folder" -B "$work/folder/build" -G Ninja >"$work/folder.log" 2>&1 || { cat "$work/folder.log"; fail "add_subdirectory"; }
if grep -q 'exs-ping:' "$work/folder/build/build.ninja"; then fail "a folder of another project builds tools"; fi

# With the shared library out of the way -lexs means libexs.a; what it needs stays shared.
rm "$prefix/$libdir"/libexs.so*
# shellcheck disable=SC2046
"$cc" -Wall -Werror "$work/use.c" -o "$work/use-static" $(pkg-config --static --cflags --libs exs)
expect static "$work/use-static"
if [[ $(readelf -d "$work/use-static") == *NEEDED*libexs* ]]; then fail "the static program needs libexs.so"; fi
