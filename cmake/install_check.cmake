# Run by `cmake --install` before all else: what is to be installed has been built. Without it CMake installs a part and then ends.
# The scripts that CMake makes name the files. EXS_CHECK_BUILD is the folder of the build, EXS_CHECK_SCRIPT the first script.
# SPDX-License-Identifier: BSD-2-Clause
string(REGEX REPLACE "([][+.*()^$?|\\])" "\\\\\\1" exs_build_pattern "${EXS_CHECK_BUILD}")
set(exs_missing)
set(exs_scripts ${EXS_CHECK_SCRIPT})
while(exs_scripts)
  list(POP_FRONT exs_scripts exs_script)
  file(READ ${exs_script} exs_text)
  # With a colon it is where the loader looks, not a file.
  string(REGEX MATCHALL "\"${exs_build_pattern}/[^\"$:]+\"" exs_files "${exs_text}")
  foreach(exs_file IN LISTS exs_files)
    string(REPLACE "\"" "" exs_file "${exs_file}")
    if(exs_file MATCHES "/cmake_install[.]cmake$")
      list(APPEND exs_scripts ${exs_file})
    elseif(NOT EXISTS ${exs_file})
      cmake_path(GET exs_file FILENAME exs_name)
      list(APPEND exs_missing ${exs_name})
    endif()
  endforeach()
endwhile()
if(exs_missing)
  list(REMOVE_DUPLICATES exs_missing)
  list(JOIN exs_missing " " exs_missing)
  cmake_host_system_information(RESULT exs_processors QUERY NUMBER_OF_LOGICAL_CORES)
  message(FATAL_ERROR "Nothing has been installed, as these files have not been built: ${exs_missing}\n"
    "Build them, then install again:\n  cmake --build ${EXS_CHECK_BUILD} --parallel ${exs_processors}\n")
endif()
