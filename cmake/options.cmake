# Compiler flags that hold for every target, as one interface library.
add_library(dashlm_options INTERFACE)
target_include_directories(dashlm_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(dashlm_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror)
# A square root that sets errno cannot be vectorised.
target_compile_options(dashlm_options INTERFACE -fno-math-errno)
# GCC 12 sees an overflow that is not there in fmt 9's join().
target_compile_options(dashlm_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>)
if(DASHLM_NATIVE)
  target_compile_options(dashlm_options INTERFACE -march=native)
endif()
if(DASHLM_SANITIZE)
  target_compile_options(dashlm_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(dashlm_options INTERFACE -fsanitize=address,undefined)
endif()
