#include "dist/cuda/sum_of_segments.h"

#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// One thread per element. A warp reads a contiguous part of each piece, and every element is read
// once.
__global__ void add_up(float* sum, SegmentPieces pieces) {
  for (int64_t i = first_element(); i < pieces.count; i += element_step()) {
    const auto element_of = [&](int rank) {
      return rank == pieces.own_rank ? pieces.own[i] : pieces.received[rank * pieces.count + i];
    };
    float total = element_of(0);
    for (int rank = 1; rank < pieces.ranks; ++rank) total += element_of(rank);
    sum[i] = total;
  }
}

}  // namespace

void sum_of_segments(cudaStream_t stream, float* sum, const SegmentPieces& pieces) {
  launch(stream, add_up, for_elements(pieces.count), sum, pieces);
}

}  // namespace dashlm::cuda
