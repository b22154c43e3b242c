// Attention in the manner of FlashAttention (Dao et al. 2022): a block of threads owns a tile of
// rows and walks over tiles of columns; scores exist for one such pair at a time. Elements in
// global memory are float or __nv_bfloat16; in shared memory and registers all is float.
//
// The forward pass and dQ have queries as rows and keys as columns; dK and dV have keys as rows and
// queries as columns. Each is made of two products only, add_scores() and add_weighted(), which
// bring their operands to shared memory a few features at a time, so that its size does not depend
// on the head's.
//
// Threads are 8 groups of 16 lanes. A group owns every 8th row of the tile, so all that concerns
// one row stays within half a warp; a lane owns every 16th column, and 2 features of every 32.
#pragma once

#include <cmath>

#include "ops/core/cuda/load_store.cuh"
#include "ops/model/attention.h"

namespace dashlm::cuda {

constexpr int kGroups = 8, kLanes = 16, kTileThreads = kGroups * kLanes;
constexpr int kColumns = 64;                      // of a tile
constexpr int kLaneColumns = kColumns / kLanes;   // of these, a lane's
constexpr int kChunk = 32;                        // features in shared memory at a time
constexpr int kLaneFeatures = kChunk / kLanes;    // of these, a lane's: neighbours
constexpr int kWeightStride = kColumns + kLanes;  // puts the two rows of a warp on other banks
constexpr int64_t kLargestWidth = 256;

__device__ inline int group_of_thread() {
  return static_cast<int>(threadIdx.x) / kLanes;
}
__device__ inline int lane_of_thread() {
  return static_cast<int>(threadIdx.x) % kLanes;
}

// Over the 16 lanes of a group; every lane gets the result.
template <class Reduce>
__device__ float group_reduce(float value, const Reduce& reduce) {
  for (int offset = kLanes / 2; offset > 0; offset /= 2) {
    value = reduce(value, __shfl_xor_sync(0xffffffffu, value, offset));
  }
  return value;
}

// Where the heads of qkv, out and log_sum_exp lie.
struct Layout {
  int64_t batch, length, query_heads, kv_heads, width;  // width: of a head
  int64_t row, group;  // elements of qkv from token to token; query heads per key head
  float scale;

  Layout(const ConstTensor& qkv, const AttentionHeads& heads)
      : batch(qkv.dim(0)),
        length(qkv.dim(1)),
        query_heads(heads.query),
        kv_heads(heads.key_value),
        width(qkv.dim(3)),
        row(qkv.dim(2) * qkv.dim(3)),
        group(heads.query / heads.key_value),
        scale(1.0f / std::sqrt(static_cast<float>(width))) {}

  // Offsets in qkv; those of keys and values for the group of a query head.
  __device__ int64_t query(int64_t b, int64_t t, int64_t head) const {
    return (b * length + t) * row + head * width;
  }
  __device__ int64_t key(int64_t b, int64_t t, int64_t kv_head) const {
    return query(b, t, query_heads + kv_head);
  }
  __device__ int64_t value(int64_t b, int64_t t, int64_t kv_head) const {
    return query(b, t, query_heads + kv_heads + kv_head);
  }
  __host__ __device__ int64_t out_row() const { return query_heads * width; }
  __device__ int64_t out(int64_t b, int64_t t, int64_t head) const {
    return (b * length + t) * out_row() + head * width;
  }
  __device__ int64_t log_sum_exp(int64_t b, int64_t t, int64_t head) const {
    return (b * query_heads + head) * length + t;
  }
};

// Rows of features in global memory. Those from `count` on, and features from `width` on, are 0.
template <class T>
struct Rows {
  const T* data;
  int64_t stride, count, width;
};

// Where a feature of a chunk of rows lies in shared memory. Lanes read 4 features of neighbouring
// rows at once: the exclusive-or puts these on different banks.
__device__ inline int in_chunk(int row, int feature) {
  return row * kChunk + (feature ^ (row % 8 * 4));
}

template <int kCount, class T>
__device__ void load_chunk(float* chunk, const Rows<T>& from, int first_feature) {
  const int feature = static_cast<int>(threadIdx.x) % kChunk;
  const bool inside = first_feature + feature < from.width;
  const int first_row = static_cast<int>(threadIdx.x) / kChunk;
  const T* data = from.data + first_row * from.stride + first_feature + feature;
#pragma unroll 4
  for (int row = first_row; row < kCount; row += kTileThreads / kChunk) {
    chunk[in_chunk(row, feature)] = inside && row < from.count ? to_float(*data) : 0.0f;
    data += kTileThreads / kChunk * from.stride;
  }
}

// What a block has in shared memory. kRows: rows of a group, of which the tile has 8 times as many.
template <int kRows>
struct Shared {
  float rows[kGroups * kRows * kChunk];
  float columns[kColumns * kChunk];
  float weights[kGroups * kRows * kWeightStride];  // each group writes and reads its own rows

  __device__ static Shared& of_block() { return *dynamic_shared<Shared>(); }
  __device__ float* weights_of(int i) {
    return weights + (group_of_thread() + kGroups * i) * kWeightStride;
  }
};

template <int kRows>
using Scores = float[kRows][kLaneColumns];

// A thread's part of a tile's rows.
template <int kWidth, int kRows>
using Accumulator = float[kRows][kWidth / kLanes];

// scores += rows · columnsᵀ. Features are added in order, so that every kernel gets the same bits.
template <int kRows, class T>
__device__ void add_scores(Scores<kRows>& scores, Shared<kRows>& shared, const Rows<T>& rows,
                           const Rows<T>& columns) {
  for (int first = 0; first < rows.width; first += kChunk) {
    __syncthreads();  // the last chunk was read
    load_chunk<kGroups * kRows>(shared.rows, rows, first);
    load_chunk<kColumns>(shared.columns, columns, first);
    __syncthreads();
#pragma unroll 2
    for (int d = 0; d < kChunk; d += 4) {
      float4 y[kLaneColumns];
#pragma unroll
      for (int j = 0; j < kLaneColumns; ++j) {
        y[j] = *reinterpret_cast<const float4*>(shared.columns +
                                                in_chunk(lane_of_thread() + kLanes * j, d));
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 x = *reinterpret_cast<const float4*>(
            shared.rows + in_chunk(group_of_thread() + kGroups * i, d));
#pragma unroll
        for (int j = 0; j < kLaneColumns; ++j) {
          float sum = fmaf(x.x, y[j].x, scores[i][j]);
          sum = fmaf(x.y, y[j].y, sum);
          sum = fmaf(x.z, y[j].z, sum);
          scores[i][j] = fmaf(x.w, y[j].w, sum);
        }
      }
    }
  }
}

// total += weights · columns, with the scores as weights. The columns of a tile are added up before
// they go to the total, whose rounding error then grows with the number of tiles.
template <int kWidth, int kRows, class T>
__device__ void add_weighted(Accumulator<kWidth, kRows>& total, const Scores<kRows>& weights,
                             Shared<kRows>& shared, const Rows<T>& columns) {
  __syncwarp();  // the last weights were read
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
#pragma unroll
    for (int j = 0; j < kLaneColumns; ++j) {
      shared.weights_of(i)[lane_of_thread() + kLanes * j] = weights[i][j];
    }
  }
#pragma unroll
  for (int c = 0; c < kWidth / kChunk; ++c) {
    if (c * kChunk >= columns.width) break;
    __syncthreads();  // the last chunk was read, and the weights are written
    load_chunk<kColumns>(shared.columns, columns, c * kChunk);
    __syncthreads();
    float part[kRows][kLaneFeatures] = {};
#pragma unroll 2
    for (int k = 0; k < kColumns; k += 4) {
      float2 y[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        y[j] = *reinterpret_cast<const float2*>(shared.columns +
                                                in_chunk(k + j, kLaneFeatures * lane_of_thread()));
      }
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float4 x = *reinterpret_cast<const float4*>(shared.weights_of(i) + k);
        const float weight[4] = {x.x, x.y, x.z, x.w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          part[i][0] = fmaf(weight[j], y[j].x, part[i][0]);
          part[i][1] = fmaf(weight[j], y[j].y, part[i][1]);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
#pragma unroll
      for (int f = 0; f < kLaneFeatures; ++f) total[i][c * kLaneFeatures + f] += part[i][f];
    }
  }
}

// Row i of this thread's part, times `factor`, to the row of features at `out`.
template <int kFeatures, class T>
__device__ void store_row(T* out, const float (&row)[kFeatures], float factor, int64_t width) {
#pragma unroll
  for (int f = 0; f < kFeatures; ++f) {
    const int feature =
        f / kLaneFeatures * kChunk + kLaneFeatures * lane_of_thread() + f % kLaneFeatures;
    if (feature < width) store(out + feature, row[f] * factor);
  }
}

// kRows sets the height of the tiles: 8 where registers can hold that many rows.
template <int kRows>
LaunchShape tiles(const Layout& at, int64_t heads) {
  const int64_t blocks = at.batch * heads * divide_up(at.length, kGroups * kRows);
  return {dim3(static_cast<unsigned>(blocks)), dim3(kTileThreads), sizeof(Shared<kRows>)};
}

// Runs the Pass for the least bound on the width of heads.
template <template <class, int> class Pass, class T, class... Arguments>
void run_for_width(int64_t width, const Arguments&... arguments) {
  if (width <= 32) return Pass<T, 32>::run(arguments...);
  if (width <= 64) return Pass<T, 64>::run(arguments...);
  if (width <= 128) return Pass<T, 128>::run(arguments...);
  Pass<T, 256>::run(arguments...);
}

inline void check_width(const Layout& at) {
  if (at.width > kLargestWidth) {
    fail_runtime("attention: heads of {} elements are more than the {} that the GPU takes",
                 at.width, kLargestWidth);
  }
}

}  // namespace dashlm::cuda
