// Starts a kernel on the CPU: block by block, each thread of a block a fiber.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>

namespace dashlm::host_cuda {

// Runs thread() for every thread of every block. Fibers of a block run in a random order, from
// barrier to barrier. Ends the process with a message when a barrier or a warp operation is not
// reached by all threads that must, or when limits of real devices are exceeded (1024 threads,
// 48 KiB of dynamic shared memory, grid sizes).
void run(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& thread);

// Of the block that is running; poisoned with 0xff before each block.
void* dynamic_shared();

}  // namespace dashlm::host_cuda
