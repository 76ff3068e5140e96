# What the library itself is made from. Tests, tools and examples look for their own.

function(ratel_require found what package)
  if(NOT ${found})
    message(FATAL_ERROR "${what} not found: install the package ${package} (scripts/build does it)")
  endif()
endfunction()

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# The static archive goes into libratel.so, so that a process with another libyaml never meets ours.
pkg_check_modules(RATEL_YAML QUIET yaml-0.1)
find_path(RATEL_YAML_INCLUDE yaml.h HINTS ${RATEL_YAML_INCLUDE_DIRS})
find_library(RATEL_YAML_ARCHIVE libyaml.a HINTS ${RATEL_YAML_LIBRARY_DIRS})
ratel_require(RATEL_YAML_INCLUDE "yaml.h" libyaml-dev)
ratel_require(RATEL_YAML_ARCHIVE "libyaml.a" libyaml-dev)

find_path(RATEL_XXHASH_INCLUDE xxhash.h)
ratel_require(RATEL_XXHASH_INCLUDE "xxhash.h" libxxhash-dev)
mark_as_advanced(RATEL_YAML_INCLUDE RATEL_YAML_ARCHIVE RATEL_XXHASH_INCLUDE RATEL_CCACHE)
