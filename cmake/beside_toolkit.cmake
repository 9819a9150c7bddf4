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

# trainyard_find_nvidia(NAME WHEEL HEADER LIBRARY PARTS...): a library of NVIDIA's that isn't in the toolkit. Sets
# NAME_INCLUDE_DIR, NAME_LIBRARY and NAME_VERSION, from HEADER's NAME_PART macros, and NAME_FOUND by what
# find_package_handle_standard_args makes of them; makes the target NAME::WHEEL.
#
# Looked for under NAME_ROOT or NAME_HOME (variable or environment), beside the CUDA toolkit, then in the system. Wheels
# under one prefix are found too: there the library has no link without a number (LIBRARY), and header and library lie in
# PREFIX/nvidia/WHEEL or in the toolkit's folder.
macro(trainyard_find_nvidia name wheel header library)
  trainyard_beside_toolkit(_${name}_places ${wheel})
  list(PREPEND _${name}_places ${${name}_ROOT} $ENV{${name}_ROOT} $ENV{${name}_HOME})
  find_path(${name}_INCLUDE_DIR ${header} HINTS ${_${name}_places} PATH_SUFFIXES include nvidia/${wheel}/include)
  find_library(${name}_LIBRARY NAMES ${wheel} ${library} HINTS ${_${name}_places}
               PATH_SUFFIXES lib lib64 nvidia/${wheel}/lib)
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  if(${name}_INCLUDE_DIR)
    file(STRINGS ${${name}_INCLUDE_DIR}/${header} _${name}_lines REGEX "define ${name}_[A-Z]+ +[0-9]+")
    set(_${name}_numbers)
    foreach(_${name}_part ${ARGN})
      string(REGEX REPLACE ".*${name}_${_${name}_part} +([0-9]+).*" "\\1" _${name}_number "${_${name}_lines}")
      list(APPEND _${name}_numbers ${_${name}_number})
    endforeach()
    string(REPLACE ";" "." ${name}_VERSION "${_${name}_numbers}")
  endif()
  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR
                                            VERSION_VAR ${name}_VERSION)
  if(${name}_FOUND AND NOT TARGET ${name}::${wheel})
    add_library(${name}::${wheel} UNKNOWN IMPORTED)
    set_target_properties(${name}::${wheel} PROPERTIES IMPORTED_LOCATION ${${name}_LIBRARY}
                                                       INTERFACE_INCLUDE_DIRECTORIES ${${name}_INCLUDE_DIR})
  endif()
endmacro()
