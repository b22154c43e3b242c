// Attention in fp32: the forward pass, and attention to a cache. The parts are in
// attention_tiles.cuh.
#include <cfloat>

#include "ops/cuda/attention_tiles.cuh"
#include "ops/cuda/operations.h"

namespace dashlm::cuda {
namespace {

// Keys and values of qkv itself, or of the cache.
struct KeysAndValues {
  const float *keys, *values;
  int64_t row;   // elements from position to position
  int64_t past;  // positions before the first row of qkv
};

// One block for each tile of queries, head and sequence; the longest rows of scores start first.
// log_sum_exp may be null.
template <int kWidth, int kRows>
__global__ void forward_kernel(float* out, float* log_sum_exp, const float* qkv, KeysAndValues kv,
                               Layout at) {
  constexpr int kTile = kGroups * kRows;
  const int64_t items = at.batch * at.query_heads, item = blockIdx.x % items;
  const int64_t b = item / at.query_heads, head = item % at.query_heads;
  const int64_t begin = (gridDim.x / items - 1 - blockIdx.x / items) * kTile;
  const int64_t count = min(static_cast<int64_t>(kTile), at.length - begin);
  const int64_t kv_begin = b * at.length * kv.row + head / at.group * at.width;
  const int64_t positions = kv.past + begin + count;
  const Rows queries{qkv + at.query(b, begin, head), at.row, count, at.width};

  auto& shared = Shared<kRows>::of_block();
  Accumulator<kWidth, kRows> total = {};
  float max[kRows], sum[kRows] = {};  // of the scores so far; `sum` over this lane's columns
  for (float& x : max) x = -FLT_MAX;  // finite, so that a first score of -inf gives no NaN
  for (int64_t first = 0; first < positions; first += kColumns) {
    Scores<kRows> scores = {};
    const int64_t offset = kv_begin + first * kv.row;
    add_scores<kRows>(scores, shared, queries,
                      {kv.keys + offset, kv.row, positions - first, at.width});
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      // The last column this row attends to.
      const int64_t last = kv.past + begin + group_of_thread() + kGroups * i - first;
      float largest = max[i];  // fmaxf passes over NaN, which comes through the exponential
#pragma unroll
      for (int j = 0; j < kLaneColumns; ++j) {
        scores[i][j] *= at.scale;
        if (lane_of_thread() + kLanes * j <= last) largest = fmaxf(largest, scores[i][j]);
      }
      largest = group_reduce(largest, [](float x, float y) { return fmaxf(x, y); });
      const float correction = expf(max[i] - largest);
      max[i] = largest;
      sum[i] *= correction;
      for (float& x : total[i]) x *= correction;
#pragma unroll
      for (int j = 0; j < kLaneColumns; ++j) {
        const bool seen = lane_of_thread() + kLanes * j <= last;
        scores[i][j] = seen ? expf(scores[i][j] - largest) : 0.0f;
        sum[i] += scores[i][j];
      }
    }
    add_weighted<kWidth, kRows>(total, scores, shared,
                                {kv.values + offset, kv.row, positions - first, at.width});
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int64_t t = begin + group_of_thread() + kGroups * i;
    const float whole = group_reduce(sum[i], [](float x, float y) { return x + y; });
    if (t >= at.length) continue;
    store_row(out + at.out(b, t, head), total[i], 1.0f / whole, at.width);
    if (log_sum_exp != nullptr && lane_of_thread() == 0) {
      log_sum_exp[at.log_sum_exp(b, t, head)] = max[i] + logf(whole);
    }
  }
}

// Keys and values of qkv (1, T, H + 2G, h) to rows `past` on of the cache.
__global__ void store_kernel(float* keys, float* values, const float* qkv, int64_t past,
                             Layout at) {
  const int64_t cache_row = at.kv_heads * at.width;
  for (int64_t i = first_element(); i < at.length * cache_row; i += element_step()) {
    const int64_t t = i / cache_row, j = i % cache_row;
    keys[past * cache_row + i] = qkv[at.key(0, t, 0) + j];
    values[past * cache_row + i] = qkv[at.value(0, t, 0) + j];
  }
}

template <int kWidth>
struct Forward {
  template <int kRows>
  static void run(cudaStream_t stream, const Tensor& out, float* log_sum_exp, const Tensor& qkv,
                  const KeysAndValues& kv, const Layout& at) {
    launch(stream, forward_kernel<kWidth, kRows>, tiles<kRows>(at, at.query_heads), out.f32(),
           log_sum_exp, qkv.f32(), kv, at);
  }
  // A few rows at a time, as in generation, would waste most of a higher tile.
  static void run(cudaStream_t stream, const Tensor& out, float* log_sum_exp, const Tensor& qkv,
                  const KeysAndValues& kv, const Layout& at) {
    at.length <= kGroups ? run<1>(stream, out, log_sum_exp, qkv, kv, at)
                         : run<kWidth <= 128 ? 8 : 4>(stream, out, log_sum_exp, qkv, kv, at);
  }
};

}  // namespace

void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp, const Tensor& qkv,
               const AttentionHeads& heads) {
  const Layout at(qkv, heads);
  check_width(at);
  if (context.planning()) return;
  const float* keys = qkv.f32() + at.query_heads * at.width;
  const KeysAndValues kv{keys, keys + at.kv_heads * at.width, at.row, 0};
  run_for_width<Forward>(at.width, stream_of(context), out, log_sum_exp.f32(), qkv, kv, at);
}

void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const Tensor& qkv, const AttentionHeads& heads, int64_t past) {
  const Layout at(qkv, heads);
  check_width(at);
  if (context.planning()) return;
  const cudaStream_t stream = stream_of(context);
  const int64_t cache_row = at.kv_heads * at.width;
  launch(stream, store_kernel, for_elements(at.length * cache_row), keys.f32(), values.f32(),
         qkv.f32(), past, at);
  const KeysAndValues kv{keys.f32(), values.f32(), cache_row, past};
  float* none = nullptr;
  run_for_width<Forward>(at.width, stream, out, none, qkv, kv, at);
}

}  // namespace dashlm::cuda
