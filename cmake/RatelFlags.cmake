# ratel_flags carries what every target of ours is compiled with. It is linked privately, so nothing of it reaches
# a user of the library.

add_library(ratel_flags INTERFACE)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  set(CMAKE_CXX_STANDARD 20)
  set(CMAKE_CXX_STANDARD_REQUIRED ON)
  set(CMAKE_CXX_EXTENSIONS OFF)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "" FORCE)
  endif()
  target_compile_options(ratel_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion
    $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>
    $<$<BOOL:${RATEL_WERROR}>:-Werror>)
  find_program(RATEL_CCACHE ccache)
  if(RATEL_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
    set(CMAKE_C_COMPILER_LAUNCHER ${RATEL_CCACHE})
    set(CMAKE_CXX_COMPILER_LAUNCHER ${RATEL_CCACHE})
  endif()
endif()

# Two words that were just written one by one are not to be read back as one vector: that waits until both are in the cache, as long as a dozen
# additions, and GCC 12 does it with every Hash128 that it has in two registers.
target_compile_options(ratel_flags INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-tree-slp-vectorize>)

if(RATEL_SANITIZE)
  target_compile_options(ratel_flags INTERFACE
    -fsanitize=${RATEL_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(ratel_flags INTERFACE -fsanitize=${RATEL_SANITIZE})
endif()

if(RATEL_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "RATEL_FUZZ needs clang: libFuzzer is part of it")
  endif()
  target_compile_options(ratel_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
