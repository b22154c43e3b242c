// The memory that cudaMalloc has given, known by its bounds.
#pragma once

#include <cstddef>

namespace dashlm::host_cuda {

// Whether all of the bytes lie in one live allocation; true of none at all.
bool on_device(const void* memory, size_t bytes);

// Whether any of the bytes does.
bool touches_device(const void* memory, size_t bytes);

}  // namespace dashlm::host_cuda
