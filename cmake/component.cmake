# One library a top-level folder. Its subfolders call trainyard_sources() to add to it, so that each folder
# lists its own files.

# trainyard_component(NAME): a static library whose headers are included from the top of the repository.
function(trainyard_component name)
  # A library must have a source from the start; the folders add theirs later.
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}_component.cpp CONTENT "// Component ${name}.\n")
  add_library(${name} STATIC ${CMAKE_CURRENT_BINARY_DIR}/${name}_component.cpp)
  add_library(trainyard::${name} ALIAS ${name})
  target_link_libraries(${name} PRIVATE trainyard_warnings)
  set_target_properties(${name} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON OUTPUT_NAME trainyard_${name})
endfunction()

# trainyard_sources(NAME HEADERS a.h ... SOURCES a.cpp ...): paths relative to the calling folder.
function(trainyard_sources name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;SOURCES")
  list(TRANSFORM arg_SOURCES PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  list(TRANSFORM arg_HEADERS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/)
  if(arg_SOURCES)
    target_sources(${name} PRIVATE ${arg_SOURCES})
  endif()
  if(arg_HEADERS)
    target_sources(${name} PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
  endif()
endfunction()

# trainyard_tests(NAME): a GoogleTest executable; each tests/ subfolder adds sources.
function(trainyard_tests name)
  add_executable(${name})
  target_link_libraries(${name} PRIVATE trainyard_warnings GTest::gtest_main ${ARGN})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  trainyard_quick(${name})
  target_compile_definitions(${name} PRIVATE TRAINYARD_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
endfunction()
