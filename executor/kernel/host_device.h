// Lets a kernel body be compiled for the host and, in a .cu file, for the GPU as well.
//
// The one macro of the project's own: CUDA's attributes have no other spelling that a C++ compiler accepts.
#pragma once

#ifdef __CUDACC__
#define TRAINYARD_HOST_DEVICE __host__ __device__
#else
#define TRAINYARD_HOST_DEVICE
#endif
