# Where NVIDIA's libraries may lie: beside the CUDA toolkit, as packages and wheels put them.

# trainyard_beside_toolkit(RESULT NAME): folders that have, under include or lib, a library whose wheel is NAME: the
# toolkit itself, and PREFIX/nvidia/NAME beside PREFIX/nvidia/cuda_nvcc.
function(trainyard_beside_toolkit result name)
  set(places ${CUDAToolkit_ROOT} ${CUDAToolkit_TARGET_DIR} $ENV{CUDA_PATH} $ENV{CUDA_HOME})
  find_program(TRAINYARD_NVCC nvcc PATHS /usr/local/cuda/bin)
  mark_as_advanced(TRAINYARD_NVCC)
  foreach(compiler ${CMAKE_CUDA_COMPILER} ${TRAINYARD_NVCC})
    get_filename_component(toolkit ${compiler} REALPATH)
    get_filename_component(toolkit ${toolkit} DIRECTORY)
    list(APPEND places ${toolkit}/.. ${toolkit}/../../${name})
  endforeach()
  set(${result} ${places} PARENT_SCOPE)
endfunction()
