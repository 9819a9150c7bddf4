# TRAINYARD_SANITIZE: a list for -fsanitize, such as "address,undefined". Applies to the whole build.
set(TRAINYARD_SANITIZE "" CACHE STRING "Sanitizers, comma-separated")
if(TRAINYARD_SANITIZE)
  add_compile_options(-fsanitize=${TRAINYARD_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${TRAINYARD_SANITIZE})
endif()

# TRAINYARD_FUZZ: libFuzzer's counters in every component, and the targets of tests/fuzz. Needs clang.
option(TRAINYARD_FUZZ "Build the fuzz targets" OFF)
if(TRAINYARD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()
