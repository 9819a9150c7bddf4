# Warnings for our own targets. Errors in the dev preset and in CI, so that a user's newer compiler still builds.
option(TRAINYARD_WARNINGS_AS_ERRORS "Treat warnings as errors" OFF)

add_library(trainyard_warnings INTERFACE)
target_compile_options(
  trainyard_warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wno-sign-conversion
            -Wno-missing-field-initializers # designated initializers name what differs from the default
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wimplicit-fallthrough
            $<$<BOOL:${TRAINYARD_WARNINGS_AS_ERRORS}>:-Werror>)
