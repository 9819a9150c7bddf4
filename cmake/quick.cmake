# TRAINYARD_QUICK: the code around the libraries (cli, gui, tests) compiles with -O1, in two thirds of the time.
# What it calls in core, simulator and executor stays fully optimised.
option(TRAINYARD_QUICK "Compile cli, gui and tests with -O1" OFF)

# trainyard_quick(TARGET): TARGET isn't where time goes at run time.
function(trainyard_quick target)
  if(TRAINYARD_QUICK)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()
