// Attention by own kernels: the forward pass, and attention to a cache. The parts are in
// attention_tiles.cuh. In bf16 the forward pass is cuDNN's where that can take it.
#include <cfloat>

#include "ops/model/backends.h"
#include "ops/model/cuda/attention_tiles.cuh"
#include "ops/model/cuda/cudnn_attention.h"

namespace dashlm::cuda {
namespace {

// Keys and values of qkv itself, or of the cache.
template <class T>
struct KeysAndValues {
  const T *keys, *values;
  int64_t row;   // elements from position to position
  int64_t past;  // positions before the first row of qkv
};

// One block for each tile of queries, head and sequence; the longest rows of scores start first.
// log_sum_exp may be null.
template <class T, int kWidth, int kRows>
__global__ void forward_kernel(T* out, float* log_sum_exp, const T* qkv, KeysAndValues<T> kv,
                               Layout at) {
  constexpr int kTile = kGroups * kRows;
  const int64_t items = at.batch * at.query_heads, item = blockIdx.x % items;
  const int64_t b = item / at.query_heads, head = item % at.query_heads;
  const int64_t begin = (gridDim.x / items - 1 - blockIdx.x / items) * kTile;
  const int64_t count = min(static_cast<int64_t>(kTile), at.length - begin);
  const int64_t kv_begin = b * at.length * kv.row + head / at.group * at.width;
  const int64_t positions = kv.past + begin + count;
  const Rows<T> queries{qkv + at.query(b, begin, head), at.row, count, at.width};

  auto& shared = Shared<kRows>::of_block();
  Accumulator<kWidth, kRows> total = {};
  float max[kRows], sum[kRows] = {};  // of the scores so far; `sum` over this lane's columns
  for (float& x : max) x = -FLT_MAX;  // finite, so that a first score of -inf gives no NaN
  for (int64_t first = 0; first < positions; first += kColumns) {
    Scores<kRows> scores = {};
    const int64_t offset = kv_begin + first * kv.row;
    add_scores<kRows>(scores, shared, queries,
                      Rows<T>{kv.keys + offset, kv.row, positions - first, at.width});
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
                                Rows<T>{kv.values + offset, kv.row, positions - first, at.width});
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
template <class T>
__global__ void store_kernel(T* keys, T* values, const T* qkv, int64_t past, Layout at) {
  const int64_t cache_row = at.kv_heads * at.width;
  for (int64_t i = first_element(); i < at.length * cache_row; i += element_step()) {
    const int64_t t = i / cache_row, j = i % cache_row;
    keys[past * cache_row + i] = qkv[at.key(0, t, 0) + j];
    values[past * cache_row + i] = qkv[at.value(0, t, 0) + j];
  }
}

// log_sum_exp may be null.
template <class T>
struct ForwardTensors {
  T* out;
  float* log_sum_exp;
  const T* qkv;
  KeysAndValues<T> kv;
};

template <class T, int kWidth>
struct Forward {
  template <int kRows>
  static void run_tiles(cudaStream_t stream, const ForwardTensors<T>& x, const Layout& at) {
    launch(stream, forward_kernel<T, kWidth, kRows>, tiles<kRows>(at, at.query_heads), x.out,
           x.log_sum_exp, x.qkv, x.kv, at);
  }
  // A few rows at a time, as in generation, would waste most of a higher tile.
  static void run(cudaStream_t stream, const ForwardTensors<T>& x, const Layout& at) {
    at.length <= kGroups ? run_tiles<1>(stream, x, at)
                         : run_tiles<kWidth <= 128 ? 8 : 4>(stream, x, at);
  }
};

template <class T>
void run_full(cudaStream_t stream, const Tensor& out, const Tensor& log_sum_exp,
              const ConstTensor& qkv, const Layout& at) {
  const T* data = qkv.as<T>();
  const T* keys = data + at.query_heads * at.width;
  const ForwardTensors<T> x{
      out.as<T>(), log_sum_exp.f32(), data, {keys, keys + at.kv_heads * at.width, at.row, 0}};
  run_for_width<Forward, T>(at.width, stream, x, at);
}

template <class T>
void run_cached(cudaStream_t stream, const Tensor& out, const Tensor& keys, const Tensor& values,
                const ConstTensor& qkv, const Layout& at, int64_t past) {
  const int64_t cache_row = at.kv_heads * at.width;
  const ForwardTensors<T> x{
      out.as<T>(), nullptr, qkv.as<T>(), {keys.as<T>(), values.as<T>(), cache_row, past}};
  launch(stream, store_kernel<T>, for_elements(at.length * cache_row), keys.as<T>(), values.as<T>(),
         x.qkv, past, at);
  run_for_width<Forward, T>(at.width, stream, x, at);
}

}  // namespace

void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp,
               const ConstTensor& qkv, const AttentionHeads& heads) {
  if (qkv.dtype == DType::bf16 && cudnn_attention(context, out, log_sum_exp, qkv, heads)) return;
  const Layout at(qkv, heads);
  check_width(at);
  context.compute([&] {
    const cudaStream_t stream = stream_of(context);
    with_type(qkv, [&]<class T>(T) { run_full<T>(stream, out, log_sum_exp, qkv, at); });
  });
}

void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const ConstTensor& qkv, const AttentionHeads& heads, int64_t past) {
  const Layout at(qkv, heads);
  check_width(at);
  context.compute([&] {
    const cudaStream_t stream = stream_of(context);
    with_type(qkv, [&]<class T>(T) { run_cached<T>(stream, out, keys, values, qkv, at, past); });
  });
}

}  // namespace dashlm::cuda
