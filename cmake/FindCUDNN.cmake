# cuDNN's headers, library and version: CUDNN_FOUND, CUDNN_VERSION, CUDNN_INCLUDE_DIR, CUDNN_LIBRARY, and the target
# CUDNN::cudnn (beside_toolkit.cmake).
include(beside_toolkit)
include(FindPackageHandleStandardArgs)
trainyard_find_nvidia(CUDNN cudnn cudnn_version.h libcudnn.so.9 MAJOR MINOR PATCHLEVEL)
