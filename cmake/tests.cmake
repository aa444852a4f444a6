# They begin first, so that all processors have work to the end.
# SPDX-License-Identifier: BSD-2-Clause
set(EXS_LONGEST_TESTS "^(faults\\.allocations|interop|java\\.(jetty|ranks)|house\\.(header|install|page)|mpj|rpc\\.(faults|matrix)|\
service\\.(kills|rxe|scarcity|siw|hosts)|sockets\\.(lane_test|twin\\.(lane|pass)|between|servers\\.nginx)|tools\\.(crowd|endings|hosts|run))")

# An entry of ctest. It runs in a network of its own (tests/support/alone.cc): two tests cannot take each other's ports, names of
# abstract sockets or agent, nor meet those of the machine.
#   exs_add_ctest(name COMMAND program argument... [LABELS label...] [JOBS n] [TIMEOUT seconds] [ENVIRONMENT A=b...]
#     [NEEDS target...] [MAY_SKIP] [ON_HOST])
# The program may be a target. NEEDS: programs and libraries that the test finds in a folder, so that neither its command nor
# its environment names them; `scripts/test --only` builds both kinds. JOBS: the share of ctest's jobs that it takes, 1.
# MAY_SKIP: status 77 tells that it cannot run here. ON_HOST: it runs in the machine's network.
function(exs_add_ctest name)
  cmake_parse_arguments(test "MAY_SKIP;ON_HOST" "JOBS;TIMEOUT" "COMMAND;LABELS;ENVIRONMENT;NEEDS" ${ARGN})
  list(POP_FRONT test_COMMAND program)
  if(TARGET ${program})
    set(program $<TARGET_FILE:${program}>)
  endif()
  set(launcher $<TARGET_FILE:test-alone>)
  if(test_ON_HOST)
    set(launcher)
  endif()
  add_test(NAME ${name} COMMAND ${launcher} ${program} ${test_COMMAND})
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 1500)  # for a hang alone: a busy or slow machine takes ten times as long as another
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${test_TIMEOUT} LABELS "${test_LABELS}" ENVIRONMENT "${test_ENVIRONMENT}")
  if(name MATCHES "${EXS_LONGEST_TESTS}")
    set_tests_properties(${name} PROPERTIES COST 100)
  endif()
  if(test_JOBS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${test_JOBS})
  endif()
  if(test_MAY_SKIP)
    set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  endif()
  set(files)
  foreach(target IN LISTS test_NEEDS)
    list(APPEND files $<TARGET_FILE:${target}>)
  endforeach()
  if(files)
    set_tests_properties(${name} PROPERTIES REQUIRED_FILES "${files}")
  endif()
endfunction()

function(exs_label_tests label)  # those of these names that there are
  foreach(name IN LISTS ARGN)
    if(TEST ${name})
      set_property(TEST ${name} APPEND PROPERTY LABELS ${label})
    endif()
  endforeach()
endfunction()

# Tests that show little which others do not show: label "long". scripts/test leaves them to --long.
#   exs_leave_to_long(name...)
function(exs_leave_to_long)
  exs_label_tests(long ${ARGN})
endfunction()

# Tests of which an optimised build and the address sanitizer show the same: label "once" in that of the two which is not named
# here. scripts/test leaves them out there when it runs both, but for --long.
#   exs_run_once(asan|release name...)
function(exs_run_once preset)
  if((preset STREQUAL "asan" AND NOT EXS_SANITIZE) OR (preset STREQUAL "release" AND EXS_SANITIZE))
    exs_label_tests(once ${ARGN})
  endif()
endfunction()
