# cuDNN's headers, library and version: CUDNN_FOUND, CUDNN_VERSION, CUDNN_INCLUDE_DIR, CUDNN_LIBRARY, and the target
# CUDNN::cudnn.
#
# Looked for under CUDNN_ROOT or CUDNN_HOME (variable or environment), beside the CUDA toolkit, then in the system; wheels
# under one prefix as by FindNCCL.cmake.
include(beside_toolkit)
trainyard_beside_toolkit(_cudnn_places cudnn)
list(PREPEND _cudnn_places ${CUDNN_ROOT} $ENV{CUDNN_ROOT} $ENV{CUDNN_HOME})

find_path(CUDNN_INCLUDE_DIR cudnn_version.h HINTS ${_cudnn_places} PATH_SUFFIXES include nvidia/cudnn/include)
find_library(CUDNN_LIBRARY NAMES cudnn libcudnn.so.9 HINTS ${_cudnn_places} PATH_SUFFIXES lib lib64 nvidia/cudnn/lib)
mark_as_advanced(CUDNN_INCLUDE_DIR CUDNN_LIBRARY)

if(CUDNN_INCLUDE_DIR)
  file(STRINGS ${CUDNN_INCLUDE_DIR}/cudnn_version.h _cudnn_lines REGEX "define CUDNN_(MAJOR|MINOR|PATCHLEVEL) +[0-9]+")
  foreach(_cudnn_part MAJOR MINOR PATCHLEVEL)
    string(REGEX REPLACE ".*CUDNN_${_cudnn_part} +([0-9]+).*" "\\1" CUDNN_${_cudnn_part} "${_cudnn_lines}")
  endforeach()
  set(CUDNN_VERSION ${CUDNN_MAJOR}.${CUDNN_MINOR}.${CUDNN_PATCHLEVEL})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CUDNN REQUIRED_VARS CUDNN_LIBRARY CUDNN_INCLUDE_DIR VERSION_VAR CUDNN_VERSION)
if(CUDNN_FOUND AND NOT TARGET CUDNN::cudnn)
  add_library(CUDNN::cudnn UNKNOWN IMPORTED)
  set_target_properties(CUDNN::cudnn PROPERTIES IMPORTED_LOCATION ${CUDNN_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES
                                                                                   ${CUDNN_INCLUDE_DIR})
endif()
