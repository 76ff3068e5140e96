# The two products: libratel.so and libratel.a, made from the objects of all layers.

get_property(ratel_layers GLOBAL PROPERTY RATEL_LAYERS)
get_property(ratel_objects GLOBAL PROPERTY RATEL_OBJECTS)
if(NOT ratel_objects)
  file(WRITE ${PROJECT_BINARY_DIR}/empty.c "typedef int ratel_nothing;")
  set(ratel_objects ${PROJECT_BINARY_DIR}/empty.c)
endif()

# All layers, for tests and tools that look inside.
add_library(ratel_internal INTERFACE)
target_link_libraries(ratel_internal INTERFACE ${ratel_layers})

function(ratel_product target)
  target_include_directories(${target} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ratel LINKER_LANGUAGE CXX)
  add_library(ratel::${target} ALIAS ${target})
endfunction()

if(RATEL_BUILD_SHARED)
  add_library(ratel SHARED ${ratel_objects})
  ratel_product(ratel)
  set(ratel_map ${PROJECT_SOURCE_DIR}/capi/abi/ratel.map)
  set_target_properties(ratel PROPERTIES
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}
    LINK_DEPENDS ${ratel_map})
  target_link_libraries(ratel PRIVATE $<BUILD_INTERFACE:ratel_flags> ${RATEL_YAML_ARCHIVE} ${RATEL_REDIS_ARCHIVES})
  target_link_options(ratel PRIVATE
    -static-libstdc++ -static-libgcc
    LINKER:--version-script=${ratel_map}
    LINKER:--exclude-libs,ALL
    LINKER:-z,relro LINKER:-z,now)
  # A sanitizer's runtime lives in the executable, which leaves its symbols undefined here.
  if(NOT RATEL_SANITIZE AND NOT RATEL_FUZZ)
    target_link_options(ratel PRIVATE LINKER:-z,defs)
  endif()
endif()

add_library(ratel_static STATIC ${ratel_objects})
ratel_product(ratel_static)
# A C program links with its C compiler, hence the C++ runtime by name.
target_link_libraries(ratel_static
  PRIVATE $<BUILD_INTERFACE:ratel_flags>
  INTERFACE
    "$<BUILD_INTERFACE:${RATEL_YAML_ARCHIVE};${RATEL_REDIS_ARCHIVES}>"
    "$<INSTALL_INTERFACE:yaml;${RATEL_REDIS_LIBRARIES}>"
    Threads::Threads stdc++ m)
