# ratel_layer(<target> <folder> [other layers it may use...])
#
# One convenience archive per source folder, so that a folder and its tests build alone. A folder with no source file
# (headers only) is an interface target of the same name.
function(ratel_layer target folder)
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp ${folder}/*.c)
  if(sources)
    add_library(${target} STATIC ${sources})
    set_target_properties(${target} PROPERTIES
      POSITION_INDEPENDENT_CODE ON
      C_VISIBILITY_PRESET hidden
      CXX_VISIBILITY_PRESET hidden
      VISIBILITY_INLINES_HIDDEN ON
      CXX_EXTENSIONS OFF)
    target_compile_definitions(${target} PRIVATE RATEL_VERSION="${PROJECT_VERSION}" RL_BUILDING_LIBRARY=1)
    target_link_libraries(${target} PRIVATE ratel_flags)
    set(scope PUBLIC)
    set_property(GLOBAL APPEND PROPERTY RATEL_OBJECTS $<TARGET_OBJECTS:${target}>)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_compile_features(${target} ${scope} cxx_std_20)
  target_include_directories(${target} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/include)
  target_include_directories(${target} SYSTEM ${scope} ${RATEL_YAML_INCLUDE} ${RATEL_XXHASH_INCLUDE})
  target_link_libraries(${target} ${scope} ${ARGN})
  set_property(GLOBAL APPEND PROPERTY RATEL_LAYERS ${target})
endfunction()
