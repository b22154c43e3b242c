# The libraries that programs link, found in the same way by the build and by an installed package
# (cmake/install.cmake). All are packages of the distribution; scripts/setup.sh installs them.
# DASHLM_MPI, DASHLM_CUDA and DASHLM_BUNDLE say what is wanted.
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
add_library(dashlm::blas INTERFACE IMPORTED)
target_include_directories(dashlm::blas SYSTEM INTERFACE ${OPENBLAS_INCLUDE})
target_link_libraries(dashlm::blas INTERFACE ${OPENBLAS_LIBRARY} OpenMP::OpenMP_CXX)
if(DASHLM_BUNDLE)  # what the archive needs of Fortran, itself statically
  target_link_libraries(dashlm::blas INTERFACE
    -Wl,--push-state,-Bstatic -lgfortran -lquadmath -Wl,--pop-state)
endif()

# MPI through its C interface. Without it dashlm works in one process.
if(DASHLM_MPI)
  enable_language(C)
  find_package(MPI REQUIRED COMPONENTS C)
endif()

if(DASHLM_CUDA)
  find_package(CUDAToolkit 13 REQUIRED)
  # Between the GPUs of several ranks.
  find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
  find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
endif()
