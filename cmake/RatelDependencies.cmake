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

# Likewise: Node exports an OpenSSL of its own.
if(RATEL_REDIS)
  find_path(RATEL_HIREDIS_INCLUDE hiredis/hiredis.h)
  find_library(RATEL_HIREDIS_ARCHIVE libhiredis.a)
  ratel_require(RATEL_HIREDIS_INCLUDE "hiredis/hiredis.h" libhiredis-dev)
  ratel_require(RATEL_HIREDIS_ARCHIVE "libhiredis.a" libhiredis-dev)
  set(RATEL_REDIS_ARCHIVES ${RATEL_HIREDIS_ARCHIVE})
  set(RATEL_REDIS_LIBRARIES hiredis)
  set(RATEL_REDIS_REQUIRES hiredis)
  if(RATEL_REDIS_TLS)
    find_path(RATEL_OPENSSL_INCLUDE openssl/ssl.h)
    find_library(RATEL_SSL_ARCHIVE libssl.a)
    find_library(RATEL_CRYPTO_ARCHIVE libcrypto.a)
    ratel_require(RATEL_OPENSSL_INCLUDE "openssl/ssl.h" libssl-dev)
    ratel_require(RATEL_SSL_ARCHIVE "libssl.a" libssl-dev)
    ratel_require(RATEL_CRYPTO_ARCHIVE "libcrypto.a" libssl-dev)
    list(APPEND RATEL_REDIS_ARCHIVES ${RATEL_SSL_ARCHIVE} ${RATEL_CRYPTO_ARCHIVE})
    list(APPEND RATEL_REDIS_LIBRARIES ssl crypto)
    string(APPEND RATEL_REDIS_REQUIRES ", openssl")
  endif()
  set(RATEL_REDIS_REQUIRES ", ${RATEL_REDIS_REQUIRES}")
  mark_as_advanced(RATEL_HIREDIS_INCLUDE RATEL_HIREDIS_ARCHIVE
    RATEL_OPENSSL_INCLUDE RATEL_SSL_ARCHIVE RATEL_CRYPTO_ARCHIVE)
endif()

find_path(RATEL_XXHASH_INCLUDE xxhash.h)
ratel_require(RATEL_XXHASH_INCLUDE "xxhash.h" libxxhash-dev)
mark_as_advanced(RATEL_YAML_INCLUDE RATEL_YAML_ARCHIVE RATEL_XXHASH_INCLUDE RATEL_CCACHE)
