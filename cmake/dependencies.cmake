# Everything here is a package of the distribution; scripts/setup.sh installs them.
if(DASHLM_BUNDLE)
  set(ZLIB_USE_STATIC_LIBS ON)  # since CMake 3.24; older ones link the shared library
  set(OPENBLAS_NAMES libopenblas.a)
else()
  set(OPENBLAS_NAMES openblas)
endif()
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(ZLIB REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(sentencepiece REQUIRED IMPORTED_TARGET sentencepiece)

# The OpenMP flavour by name: with the pthread flavour, products called from our own threads would
# each start a second team of threads.
find_library(OPENBLAS_LIBRARY NAMES ${OPENBLAS_NAMES}
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp openblas-openmp REQUIRED)
find_path(OPENBLAS_INCLUDE cblas.h
  PATH_SUFFIXES ${CMAKE_LIBRARY_ARCHITECTURE}/openblas-openmp ${CMAKE_LIBRARY_ARCHITECTURE} openblas
  REQUIRED)
add_library(dashlm_blas INTERFACE)
target_include_directories(dashlm_blas SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(dashlm_blas INTERFACE ${OPENBLAS_LIBRARY} OpenMP::OpenMP_CXX)
if(DASHLM_BUNDLE)  # what the archive needs of Fortran, itself statically
  target_link_libraries(dashlm_blas INTERFACE
    -Wl,--push-state,-Bstatic -lgfortran -lquadmath -Wl,--pop-state)
endif()

# MPI through its C interface. Without it dashlm works in one process.
if(DASHLM_MPI STREQUAL "AUTO")
  find_package(MPI QUIET COMPONENTS C)
elseif(DASHLM_MPI)
  find_package(MPI REQUIRED COMPONENTS C)
endif()
message(STATUS "MPI: ${MPI_C_FOUND}")

if(DASHLM_CUDA)
  find_package(CUDAToolkit 13 REQUIRED)
  # Between the GPUs of several ranks.
  find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
  if(NOT DASHLM_CUDA STREQUAL "HOST_TEST")
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
endif()
