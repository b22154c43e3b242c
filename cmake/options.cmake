# Compiler flags that hold for every target, as one interface library.
add_library(dashlm_options INTERFACE)
target_include_directories(dashlm_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
set(FOR_CXX $<NOT:$<COMPILE_LANGUAGE:CUDA>>)
target_compile_options(dashlm_options INTERFACE
  $<${FOR_CXX}:-Wall;-Wextra;-Wpedantic;-Wshadow;-Werror>)
if(DASHLM_CUDA AND NOT DASHLM_CUDA STREQUAL "HOST_TEST")
  target_compile_options(dashlm_options INTERFACE
    $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings;-Xcompiler=-Wall,-Wextra,-Werror>)
endif()
# A square root that sets errno cannot be vectorised.
target_compile_options(dashlm_options INTERFACE $<${FOR_CXX}:-fno-math-errno>)
# GCC 12 sees an overflow that is not there in fmt 9's join().
target_compile_options(dashlm_options INTERFACE $<$<AND:$<CXX_COMPILER_ID:GNU>,${FOR_CXX}>:-Wno-stringop-overflow>)
if(DASHLM_NATIVE)
  target_compile_options(dashlm_options INTERFACE $<${FOR_CXX}:-march=native>)
endif()
if(DASHLM_SANITIZE)
  target_compile_options(dashlm_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(dashlm_options INTERFACE -fsanitize=address,undefined)
endif()
