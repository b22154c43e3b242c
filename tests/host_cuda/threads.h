// What device code sees of the thread that runs it, and how it waits for others: the ground on
// which the built-ins in prelude.h stand.
#pragma once

#include <vector_types.h>

#include <cstdint>

namespace dashlm::host_cuda {

constexpr int kWarpSize = 32;

// Of the running thread. Plain globals: kernels run one at a time, on one thread of the system.
struct Position {
  uint3 thread, block;
  dim3 block_size, grid_size;
};
extern Position position;

// What the threads of a block said at a barrier.
struct Votes {
  int any, all, count;
};

// Waits for all threads of the block. Threads that wait must have come from one line of the source.
Votes synchronize_block(int predicate, int line);

// Waits for all lanes of the warp, and returns what each had to give, indexed by lane; valid until
// the next call. Lanes that do not exist, as the last warp of a block may be partial, give bits
// that are all ones.
const uint64_t* exchange_in_warp(unsigned mask, uint64_t bits, int line);

// Of the running thread, and how many lanes its warp has.
int lane_of_warp();
int lanes_of_warp();

}  // namespace dashlm::host_cuda
