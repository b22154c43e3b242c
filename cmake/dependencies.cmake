# The libraries, and what only compiling dashlm needs beside them.
if(DASHLM_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS C)
  set(DASHLM_MPI "${MPI_C_FOUND}")  # the cache keeps AUTO
endif()
include(${CMAKE_CURRENT_LIST_DIR}/libraries.cmake)
message(STATUS "MPI: ${DASHLM_MPI}")

if(DASHLM_CUDA AND NOT DASHLM_CUDA STREQUAL "HOST_TEST")
  if(NOT CMAKE_CUDA_ARCHITECTURES)
    set(CMAKE_CUDA_ARCHITECTURES 80 90 100)
  endif()
  enable_language(CUDA)
  # nvcc has known C++20 since CUDA 12; older CMake does not know that.
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
  # Attention in bf16: headers only, as cuDNN itself is looked for when it is needed. The frontend
  # is a package of its own, which scripts/setup.sh --cuda fetches.
  find_path(CUDNN_INCLUDE cudnn.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_path(CUDNN_FRONTEND_INCLUDE cudnn_frontend.h
    HINTS ${CUDNN_FRONTEND_DIR} ENV CUDNN_FRONTEND_DIR ${PROJECT_SOURCE_DIR}/.deps/cudnn_frontend
    PATH_SUFFIXES include)
  if(CUDNN_INCLUDE AND CUDNN_FRONTEND_INCLUDE)
    message(STATUS "cuDNN: ${CUDNN_INCLUDE}, frontend: ${CUDNN_FRONTEND_INCLUDE}")
  else()
    message(STATUS "cuDNN or its frontend is missing: attention in bf16 runs by own kernels, which "
      "are slow (scripts/setup.sh --cuda fetches the frontend)")
  endif()
endif()
