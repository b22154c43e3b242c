// The sum at the end of a reduce_scatter.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

namespace dashlm::cuda {

// The pieces of all ranks for one segment. `received` has room for `ranks` pieces of `count`
// elements, one after the other. The piece of rank `own_rank` lies at `own` instead.
struct SegmentPieces {
  const float* received = nullptr;
  const float* own = nullptr;
  int own_rank = 0;
  int ranks = 1;
  int64_t count = 0;
};

// sum (count) = the pieces of rank 0, 1, ..., added up in this order. Queued on the stream.
void sum_of_segments(cudaStream_t stream, float* sum, const SegmentPieces& pieces);

}  // namespace dashlm::cuda
