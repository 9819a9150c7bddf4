# TRAINYARD_CUDA: AUTO, ON or OFF: whether libtrainyard_cuda.so is built (executor/device/cuda).
#
# AUTO builds it where nvcc is found: always with the tests, so that it keeps compiling; without them (a user's build)
# only where a GPU driver is. ON fails where nvcc or cuBLAS is missing. A toolkit put together from wheels under one
# prefix is found as any other: by CUDACXX, or nvcc on the PATH.
#
# CMAKE_CUDA_ARCHITECTURES: one with the tests; without them A100, H100 and H200, B200, and PTX for later ones.
set(TRAINYARD_CUDA AUTO CACHE STRING "Build the CUDA device: AUTO, ON or OFF")
set_property(CACHE TRAINYARD_CUDA PROPERTY STRINGS AUTO ON OFF)

# trainyard_find_cuda(RESULT): whether to build it.
function(trainyard_find_cuda result)
  set(${result} FALSE PARENT_SCOPE)
  if(TRAINYARD_CUDA STREQUAL "OFF")
    message(STATUS "CUDA device: off")
    return()
  endif()
  set(driver FALSE)
  foreach(sign /proc/driver/nvidia/version /dev/nvidiactl /dev/dxg) # the last is Windows' in WSL
    if(EXISTS ${sign})
      set(driver TRUE)
    endif()
  endforeach()
  if(TRAINYARD_CUDA STREQUAL "AUTO" AND NOT TRAINYARD_TESTS AND NOT driver)
    message(STATUS "CUDA device: not built, no GPU driver here (TRAINYARD_CUDA=ON builds it all the same)")
    return()
  endif()
  include(CheckLanguage)
  check_language(CUDA)
  if(NOT CMAKE_CUDA_COMPILER)
    if(TRAINYARD_CUDA STREQUAL "AUTO")
      message(STATUS "CUDA device: not built, nvcc was not found (put it on the PATH, or set CUDACXX)")
    else()
      message(FATAL_ERROR "TRAINYARD_CUDA=ON, but nvcc was not found: put it on the PATH, or set CUDACXX.")
    endif()
    return()
  endif()
  set(${result} TRUE PARENT_SCOPE)
endfunction()
