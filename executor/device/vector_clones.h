// Compiles a function three times (512-bit, 256-bit and 128-bit vectors); the loader picks by the CPU it finds.
// So one binary runs on any x86-64 machine and uses what is there. Other architectures: once; so too under
// ThreadSanitizer, which isn't set up yet when the loader asks for the choice, and by clang, which has no clones of
// templates.
#pragma once

// A macro because an attribute can't be named otherwise.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) && !defined(__clang__)
#define TRAINYARD_VECTOR_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TRAINYARD_VECTOR_CLONES
#endif
