# Adds the CUDA sources to the libraries of their folders: compiled by nvcc, or, for tests on machines
# without a GPU, as C++ against tests/host_cuda.
if(NOT DASHLM_CUDA)
  return()
endif()

if(DASHLM_CUDA STREQUAL "HOST_TEST")
  add_subdirectory(${PROJECT_SOURCE_DIR}/tests/host_cuda ${PROJECT_BINARY_DIR}/host_cuda)
endif()

set(CUDA_FOLDERS device ops)
if(MPI_C_FOUND AND NCCL_INCLUDE AND (NCCL_LIBRARY OR DASHLM_CUDA STREQUAL "HOST_TEST"))
  list(APPEND CUDA_FOLDERS dist)
  target_include_directories(dashlm_dist SYSTEM PRIVATE ${NCCL_INCLUDE})
  target_compile_definitions(dashlm_dist PRIVATE DASHLM_HAS_NCCL)
  if(NOT DASHLM_CUDA STREQUAL "HOST_TEST")
    target_link_libraries(dashlm_dist PUBLIC ${NCCL_LIBRARY})
  endif()
endif()

if(CUDNN_INCLUDE AND CUDNN_FRONTEND_INCLUDE)
  target_include_directories(dashlm_ops SYSTEM PRIVATE ${CUDNN_FRONTEND_INCLUDE} ${CUDNN_INCLUDE})
  set_source_files_properties(ops/model/cuda/cudnn_attention.cpp PROPERTIES
    COMPILE_DEFINITIONS DASHLM_HAS_CUDNN)
  target_link_libraries(dashlm_ops PRIVATE ${CMAKE_DL_LIBS})
endif()

foreach(FOLDER ${CUDA_FOLDERS})
  file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS
    ${FOLDER}/cuda/*.cpp ${FOLDER}/cuda/*.cu ${FOLDER}/*/cuda/*.cpp ${FOLDER}/*/cuda/*.cu)
  target_sources(dashlm_${FOLDER} PRIVATE ${CUDA_SOURCES})
  target_compile_definitions(dashlm_${FOLDER} PUBLIC DASHLM_HAS_CUDA)
  if(DASHLM_CUDA STREQUAL "HOST_TEST")
    set_source_files_properties(${CUDA_SOURCES} PROPERTIES LANGUAGE CXX
      COMPILE_OPTIONS "-x;c++;-include;host_cuda/prelude.h;-Wno-unknown-pragmas")
    target_link_libraries(dashlm_${FOLDER} PUBLIC host_cuda)
  else()
    # nvcc cannot evaluate fmt 9's format strings at compile time unless told that it can.
    target_compile_definitions(dashlm_${FOLDER} PRIVATE
      $<$<COMPILE_LANGUAGE:CUDA>:FMT_USE_CONSTEXPR=1>)
    target_link_libraries(dashlm_${FOLDER} PUBLIC
      CUDA::cudart_static CUDA::cublasLt CUDA::cusolver)
  endif()
endforeach()
