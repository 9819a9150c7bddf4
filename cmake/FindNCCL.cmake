# NCCL's header, library and version: NCCL_FOUND, NCCL_VERSION, NCCL_INCLUDE_DIR, NCCL_LIBRARY, and the target NCCL::nccl
# (beside_toolkit.cmake).
include(beside_toolkit)
include(FindPackageHandleStandardArgs)
trainyard_find_nvidia(NCCL nccl nccl.h libnccl.so.2 MAJOR MINOR PATCH)
