#!/usr/bin/env bash
# Installs into a fresh prefix, moves it, and uses it from there: by pkg-config shared and static, and by
# find_package.   install.sh BUILD-FOLDER SOURCE-FOLDER LIBDIR C-COMPILER
set -euo pipefail
build=$1 source=$2 libdir=$3 cc=$4

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
DESTDIR= cmake --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
prefix=$work/moved
mv "$work/first" "$prefix" # nothing installed may know where it was

fail() { echo "install: $*"; exit 1; }

for file in "$libdir/libexs.so" "$libdir/libexs.so.0" "$libdir/libexs.a" "$libdir/pkgconfig/exs.pc" \
  include/exs/exs.h include/exs/exs.hpp include/exs/cpp/loop.hpp include/sys/exs.h share/man/man7/exs.7 share/man/man3/exs_send.3 \
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

# With the shared library out of the way -lexs means libexs.a; what it needs stays shared.
rm "$prefix/$libdir"/libexs.so*
# shellcheck disable=SC2046
"$cc" -Wall -Werror "$work/use.c" -o "$work/use-static" $(pkg-config --static --cflags --libs exs)
expect static "$work/use-static"
if readelf -d "$work/use-static" | grep -q 'NEEDED.*libexs'; then fail "the static program needs libexs.so"; fi
