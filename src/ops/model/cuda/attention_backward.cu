// The gradients of attention by own kernels. The weights of scores are taken again from the
// log-sum-exp; one kernel gives dQ and another dK and dV, so that each sum has one owner and one
// order. The parts are in attention_tiles.cuh. In bf16 cuDNN does this where it can.
#include "ops/model/backends.h"
#include "ops/model/cuda/attention_tiles.cuh"
#include "ops/model/cuda/cudnn_attention.h"

namespace dashlm::cuda {
namespace {

// delta (B, H, T) = rowsum(dO · O), a warp for each row.
template <class T>
__global__ void delta_kernel(float* delta, const T* d_out, const T* out, Layout at) {
  const int64_t lane = threadIdx.x % kWarp;
  for (int64_t r = first_element() / kWarp; r < at.batch * at.length * at.query_heads;
       r += element_step() / kWarp) {
    float sum = 0;
    for (int64_t j = lane; j < at.width; j += kWarp) {
      sum = fmaf(to_float(d_out[r * at.width + j]), to_float(out[r * at.width + j]), sum);
    }
    sum = warp_reduce(sum, [](float x, float y) { return x + y; });
    const int64_t token = r / at.query_heads;
    const int64_t b = token / at.length, t = token % at.length;
    if (lane == 0) delta[at.log_sum_exp(b, t, r % at.query_heads)] = sum;
  }
}

// What the backward kernels read and write.
template <class T>
struct BackwardTensors {
  T* d_qkv;
  const T* d_out;
  const float *log_sum_exp, *delta;
  const T* qkv;
};

// The weight of a score, and the gradient of the loss by the score, which replace both arguments.
__device__ void weight_backward(float& score, float& d_weight, bool seen, float log_sum_exp,
                                float delta, float scale) {
  score = seen ? expf(score * scale - log_sum_exp) : 0.0f;
  d_weight = seen ? score * (d_weight - delta) * scale : 0.0f;
}

// One block for each tile of queries, head and sequence.
template <class T, int kWidth, int kRows>
__global__ void query_backward_kernel(BackwardTensors<T> x, Layout at) {
  constexpr int kTile = kGroups * kRows;
  const int64_t items = at.batch * at.query_heads, item = blockIdx.x % items;
  const int64_t b = item / at.query_heads, head = item % at.query_heads;
  const int64_t begin = (gridDim.x / items - 1 - blockIdx.x / items) * kTile;
  const int64_t count = min(static_cast<int64_t>(kTile), at.length - begin);
  const Rows<T> queries{x.qkv + at.query(b, begin, head), at.row, count, at.width};
  const Rows<T> d_out{x.d_out + at.out(b, begin, head), at.out_row(), count, at.width};

  auto& shared = Shared<kRows>::of_block();
  Accumulator<kWidth, kRows> d_queries = {};
  for (int64_t first = 0; first < begin + count; first += kColumns) {
    const int64_t left = begin + count - first;
    const Rows<T> keys{x.qkv + at.key(b, first, head / at.group), at.row, left, at.width};
    const Rows<T> values{x.qkv + at.value(b, first, head / at.group), at.row, left, at.width};
    Scores<kRows> scores = {}, d_scores = {};
    add_scores<kRows>(scores, shared, queries, keys);
    add_scores<kRows>(d_scores, shared, d_out, values);
#pragma unroll
    for (int i = 0; i < kRows; ++i) {
      const int64_t t = begin + group_of_thread() + kGroups * i;
      const int64_t row = at.log_sum_exp(b, t, head);
      const float log_sum_exp = t < at.length ? x.log_sum_exp[row] : 0.0f;
      const float delta = t < at.length ? x.delta[row] : 0.0f;
#pragma unroll
      for (int j = 0; j < kLaneColumns; ++j) {
        const bool seen = first + lane_of_thread() + kLanes * j <= t && t < at.length;
        weight_backward(scores[i][j], d_scores[i][j], seen, log_sum_exp, delta, at.scale);
      }
    }
    add_weighted<kWidth, kRows>(d_queries, d_scores, shared, keys);
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int64_t t = begin + group_of_thread() + kGroups * i;
    if (t < at.length) store_row(x.d_qkv + at.query(b, t, head), d_queries[i], 1.0f, at.width);
  }
}

// One block for each tile of keys, key head and sequence: the gradients are sums over the query
// heads of the group and the tiles of queries, taken in order.
template <class T, int kWidth, int kRows>
__global__ void key_value_backward_kernel(BackwardTensors<T> x, Layout at) {
  constexpr int kTile = kGroups * kRows;
  const int64_t items = at.batch * at.kv_heads, item = blockIdx.x % items;
  const int64_t b = item / at.kv_heads, kv_head = item % at.kv_heads;
  const int64_t begin = blockIdx.x / items * kTile;
  const int64_t count = min(static_cast<int64_t>(kTile), at.length - begin);
  const Rows<T> keys{x.qkv + at.key(b, begin, kv_head), at.row, count, at.width};
  const Rows<T> values{x.qkv + at.value(b, begin, kv_head), at.row, count, at.width};

  auto& shared = Shared<kRows>::of_block();
  Accumulator<kWidth, kRows> d_keys = {}, d_values = {};
  for (int64_t head = kv_head * at.group; head < (kv_head + 1) * at.group; ++head) {
    for (int64_t first = begin; first < at.length; first += kColumns) {
      const int64_t left = at.length - first;
      const Rows<T> queries{x.qkv + at.query(b, first, head), at.row, left, at.width};
      const Rows<T> d_out{x.d_out + at.out(b, first, head), at.out_row(), left, at.width};
      Scores<kRows> scores = {}, d_scores = {};
      add_scores<kRows>(scores, shared, keys, queries);
      add_scores<kRows>(d_scores, shared, values, d_out);
#pragma unroll
      for (int j = 0; j < kLaneColumns; ++j) {
        const int64_t t = first + lane_of_thread() + kLanes * j;
        const int64_t row = at.log_sum_exp(b, t, head);
        const float log_sum_exp = t < at.length ? x.log_sum_exp[row] : 0.0f;
        const float delta = t < at.length ? x.delta[row] : 0.0f;
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          const bool seen = begin + group_of_thread() + kGroups * i <= t && t < at.length;
          weight_backward(scores[i][j], d_scores[i][j], seen, log_sum_exp, delta, at.scale);
        }
      }
      add_weighted<kWidth, kRows>(d_values, scores, shared, d_out);
      add_weighted<kWidth, kRows>(d_keys, d_scores, shared, queries);
    }
  }
#pragma unroll
  for (int i = 0; i < kRows; ++i) {
    const int64_t t = begin + group_of_thread() + kGroups * i;
    if (t >= at.length) continue;
    store_row(x.d_qkv + at.key(b, t, kv_head), d_keys[i], 1.0f, at.width);
    store_row(x.d_qkv + at.value(b, t, kv_head), d_values[i], 1.0f, at.width);
  }
}

template <class T, int kWidth>
struct Backward {
  static void run(cudaStream_t stream, const BackwardTensors<T>& x, const Layout& at) {
    constexpr int kQueryRows = kWidth <= 128 ? 8 : 4, kKeyRows = kWidth <= 64 ? 8 : 4;
    launch(stream, query_backward_kernel<T, kWidth, kQueryRows>,
           tiles<kQueryRows>(at, at.query_heads), x, at);
    launch(stream, key_value_backward_kernel<T, kWidth, kKeyRows>, tiles<kKeyRows>(at, at.kv_heads),
           x, at);
  }
};

template <class T>
void run_backward(cudaStream_t stream, const AttentionBackward& t, const Tensor& delta,
                  const Layout& at) {
  launch(stream, delta_kernel<T>, for_elements(delta.elements() * kWarp), delta.f32(),
         t.d_out.as<T>(), t.out.as<T>(), at);
  const BackwardTensors<T> x{t.d_qkv.as<T>(), t.d_out.as<T>(), t.log_sum_exp.f32(), delta.f32(),
                             t.qkv.as<T>()};
  run_for_width<Backward, T>(at.width, stream, x, at);
}

}  // namespace

void attention_backward(Context& context, const AttentionBackward& t, const AttentionHeads& heads) {
  if (t.qkv.dtype == DType::bf16 && cudnn_attention_backward(context, t, heads)) {
    return;
  }
  const Layout at(t.qkv, heads);
  check_width(at);
  const ArenaScope scope(context.scratch);
  const Tensor delta = context.scratch.take("attention.delta", t.log_sum_exp.shape);
  context.compute([&] {
    const cudaStream_t stream = stream_of(context);
    with_type(t.qkv, [&]<class T>(T) { run_backward<T>(stream, t, delta, at); });
  });
}

}  // namespace dashlm::cuda
