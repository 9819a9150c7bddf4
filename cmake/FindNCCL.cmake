# NCCL's header, library and version: NCCL_FOUND, NCCL_VERSION, NCCL_INCLUDE_DIR, NCCL_LIBRARY, and the target NCCL::nccl.
#
# Looked for under NCCL_ROOT or NCCL_HOME (variable or environment), beside the CUDA toolkit, then in the system. Wheels
# under one prefix are found too: there the library has no link without a number (libnccl.so.2), and header and library
# lie in PREFIX/nvidia/nccl or in the toolkit's folder.
include(beside_toolkit)
trainyard_beside_toolkit(_nccl_places nccl)
list(PREPEND _nccl_places ${NCCL_ROOT} $ENV{NCCL_ROOT} $ENV{NCCL_HOME})

find_path(NCCL_INCLUDE_DIR nccl.h HINTS ${_nccl_places} PATH_SUFFIXES include nvidia/nccl/include)
find_library(NCCL_LIBRARY NAMES nccl libnccl.so.2 HINTS ${_nccl_places} PATH_SUFFIXES lib lib64 nvidia/nccl/lib)
mark_as_advanced(NCCL_INCLUDE_DIR NCCL_LIBRARY)

if(NCCL_INCLUDE_DIR)
  file(STRINGS ${NCCL_INCLUDE_DIR}/nccl.h _nccl_lines REGEX "define NCCL_(MAJOR|MINOR|PATCH) +[0-9]+")
  foreach(_nccl_part MAJOR MINOR PATCH)
    string(REGEX REPLACE ".*NCCL_${_nccl_part} +([0-9]+).*" "\\1" NCCL_${_nccl_part} "${_nccl_lines}")
  endforeach()
  set(NCCL_VERSION ${NCCL_MAJOR}.${NCCL_MINOR}.${NCCL_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(NCCL REQUIRED_VARS NCCL_LIBRARY NCCL_INCLUDE_DIR VERSION_VAR NCCL_VERSION)
if(NCCL_FOUND AND NOT TARGET NCCL::nccl)
  add_library(NCCL::nccl UNKNOWN IMPORTED)
  set_target_properties(NCCL::nccl PROPERTIES IMPORTED_LOCATION ${NCCL_LIBRARY} INTERFACE_INCLUDE_DIRECTORIES
                                                                                ${NCCL_INCLUDE_DIR})
endif()
