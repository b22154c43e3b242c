# Compiler flags that hold for every target, as one interface library.
add_library(dashlm_options INTERFACE)
target_include_directories(dashlm_options INTERFACE ${PROJECT_SOURCE_DIR}/src)
target_compile_options(dashlm_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Werror)
if(DASHLM_NATIVE)
  target_compile_options(dashlm_options INTERFACE -march=native)
endif()
if(DASHLM_SANITIZE)
  target_compile_options(dashlm_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(dashlm_options INTERFACE -fsanitize=address,undefined)
endif()
