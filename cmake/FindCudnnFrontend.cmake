# The headers of NVIDIA's C++ front end of cuDNN: CudnnFrontend_FOUND, CudnnFrontend_VERSION,
# CUDNN_FRONTEND_INCLUDE_DIR, and the target CUDNN::frontend. They are all there is of it, but call libnvrtc, as cuDNN does
# itself (CUDNN_FRONTEND_NVRTC_LIBRARY).
#
# The headers are looked for under CUDNN_FRONTEND_ROOT (variable or environment), where scripts/cudnn_front_end.sh puts
# them, beside the CUDA toolkit (the wheel's are in PREFIX/include), then in the system.
include(beside_toolkit)
trainyard_beside_toolkit(_frontend_places cudnn)
foreach(_frontend_place ${_frontend_places})
  list(APPEND _frontend_places ${_frontend_place}/../..)
endforeach()
list(PREPEND _frontend_places ${CUDNN_FRONTEND_ROOT} $ENV{CUDNN_FRONTEND_ROOT} ${PROJECT_BINARY_DIR}/cudnn-frontend)

find_path(CUDNN_FRONTEND_INCLUDE_DIR cudnn_frontend_version.h HINTS ${_frontend_places} PATH_SUFFIXES include)
trainyard_beside_toolkit(_frontend_nvrtc_places cuda_nvrtc)
find_library(CUDNN_FRONTEND_NVRTC_LIBRARY NAMES nvrtc libnvrtc.so.13 libnvrtc.so.12 HINTS ${_frontend_nvrtc_places}
             PATH_SUFFIXES lib lib64)
mark_as_advanced(CUDNN_FRONTEND_INCLUDE_DIR CUDNN_FRONTEND_NVRTC_LIBRARY)

if(CUDNN_FRONTEND_INCLUDE_DIR)
  file(STRINGS ${CUDNN_FRONTEND_INCLUDE_DIR}/cudnn_frontend_version.h _frontend_lines
       REGEX "define CUDNN_FRONTEND_(MAJOR|MINOR|PATCH)_VERSION +[0-9]+")
  foreach(_frontend_part MAJOR MINOR PATCH)
    string(REGEX REPLACE ".*CUDNN_FRONTEND_${_frontend_part}_VERSION +([0-9]+).*" "\\1" _frontend_${_frontend_part}
                         "${_frontend_lines}")
  endforeach()
  set(CudnnFrontend_VERSION ${_frontend_MAJOR}.${_frontend_MINOR}.${_frontend_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CudnnFrontend REQUIRED_VARS CUDNN_FRONTEND_INCLUDE_DIR CUDNN_FRONTEND_NVRTC_LIBRARY
                                                VERSION_VAR CudnnFrontend_VERSION)
if(CudnnFrontend_FOUND AND NOT TARGET CUDNN::frontend)
  add_library(CUDNN::frontend INTERFACE IMPORTED)
  set_target_properties(CUDNN::frontend PROPERTIES INTERFACE_INCLUDE_DIRECTORIES ${CUDNN_FRONTEND_INCLUDE_DIR}
                                                     INTERFACE_LINK_LIBRARIES ${CUDNN_FRONTEND_NVRTC_LIBRARY})
endif()
