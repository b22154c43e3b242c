// Attention by blocks of query rows: the scores of one block and one head exist at a time, in
// memory of the thread that works on them, and only up to the diagonal. Keys and values are packed
// once for all blocks and heads that a thread computes with them.
#include <cmath>
#include <cstring>

#include "device/cpu/parallel.h"
#include "ops/core/cpu/gemm.h"
#include "ops/core/cpu/in_f32.h"
#include "ops/core/cpu/vector_math.h"
#include "ops/model/backends.h"

namespace dashlm::cpu {
namespace {

constexpr int64_t kBlock = 32;  // query rows at a time: half of a block on the diagonal is wasted

// Where the heads of one sequence lie.
struct Layout {
  int64_t batch, length, query_heads, kv_heads, width;  // width: of a head
  int64_t row, group;  // elements from token to token; query heads per key head

  Layout(const ConstTensor& qkv, const AttentionHeads& heads)
      : batch(qkv.dim(0)),
        length(qkv.dim(1)),
        query_heads(heads.query),
        kv_heads(heads.key_value),
        width(qkv.dim(3)),
        row(qkv.dim(2) * qkv.dim(3)),
        group(heads.query / heads.key_value) {}

  float scale() const { return 1.0f / std::sqrt(static_cast<float>(width)); }
  int64_t out_row() const { return query_heads * width; }

  template <class T>
  T* query(T* qkv, int64_t b, int64_t t, int64_t head) const {
    return qkv + (b * length + t) * row + head * width;
  }
  template <class T>
  T* key(T* qkv, int64_t b, int64_t kv_head) const {
    return qkv + b * length * row + (query_heads + kv_head) * width;
  }
  template <class T>
  T* value(T* qkv, int64_t b, int64_t kv_head) const {
    return qkv + b * length * row + (query_heads + kv_heads + kv_head) * width;
  }
  template <class T>
  T* output(T* out, int64_t b, int64_t t, int64_t head) const {
    return out + (b * length + t) * out_row() + head * width;
  }
};

// Softmax over the first `valid` of `count` scores, the rest becoming 0; returns the log-sum-exp.
float softmax_row(float* x, int64_t valid, int64_t count) {
  const float max = max_of(x, valid);
  const float sum = exp_and_sum(x, x, max, valid);
  const float inverse = 1.0f / sum;
  for (int64_t j = 0; j < valid; ++j) x[j] *= inverse;
  std::fill(x + valid, x + count, 0.0f);
  return max + std::log(sum);
}

// What a thread works in: scores of a block, and packed keys and values.
class Workspace {
 public:
  static int64_t floats(int64_t positions, int64_t width) {
    return 2 * scores(positions) + packed(positions, width) + 2 * packed(width, positions);
  }

  Workspace(const Tensor& work, int64_t positions, int64_t width)
      : next_(work.f32() + omp_get_thread_num() * floats(positions, width)),
        positions_(positions),
        width_(width) {}

  float* scores() { return take(scores(positions_)); }  // (kBlock, positions)
  PackedMatrix rows(ConstMatrix x) {                    // x (positions, width)
    return {take(packed(positions_, width_)), positions_, width_, x};
  }
  PackedMatrix transposed(ConstMatrix x) {
    return {take(packed(width_, positions_)), width_, positions_, x.transpose()};
  }

 private:
  static int64_t scores(int64_t positions) { return aligned(kBlock * positions); }
  static int64_t packed(int64_t k, int64_t n) { return aligned(PackedMatrix::floats(k, n)); }
  static int64_t aligned(int64_t floats) { return (floats + 15) / 16 * 16; }  // to cache lines

  float* take(int64_t floats) {
    float* taken = next_;
    next_ += floats;
    return taken;
  }

  float* next_;
  int64_t positions_, width_;
};

// Parts into which the blocks of a sequence are dealt out, for some parts to a thread.
int64_t parts_of(int64_t sequences_and_heads, int64_t blocks) {
  const int64_t wanted = kPartsForThread * max_threads();
  return std::clamp<int64_t>(wanted / sequences_and_heads, 1, blocks);
}

// d_scores = P · (dP - rowsum(dO·O)) · scale, written over dP. P comes from the scores and the
// saved log-sum-exp, and is written over the scores.
void softmax_block_backward(float* scores, float* d_scores, int64_t rows, int64_t begin,
                            const Layout& at, const float* out, const float* d_out,
                            const float* log_sum_exp) {
  const int64_t columns = begin + rows;
  for (int64_t i = 0; i < rows; ++i) {
    float *p = scores + i * at.length, *d = d_scores + i * at.length;
    const float *o = out + i * at.out_row(), *d_o = d_out + i * at.out_row();
    float delta = 0;
#pragma omp simd reduction(+ : delta)
    for (int64_t j = 0; j < at.width; ++j) delta += o[j] * d_o[j];
    const int64_t valid = begin + i + 1;
    const float lse = log_sum_exp[i], scale = at.scale();
#pragma omp simd
    for (int64_t j = 0; j < valid; ++j) {
      p[j] = exp_f32(p[j] - lse);
      d[j] = p[j] * (d[j] - delta) * scale;
    }
    std::fill(p + valid, p + columns, 0.0f);
    std::fill(d + valid, d + columns, 0.0f);
  }
}

// Memory for the workspaces of all threads.
Tensor take_workspaces(Context& context, int64_t positions, int64_t width) {
  return context.scratch.take("attention.work",
                              {max_threads() * Workspace::floats(positions, width)});
}

void attend(const Tensor& out, const Tensor& log_sum_exp, const ConstTensor& qkv,
            const AttentionHeads& heads, const Tensor& work) {
  const Layout at(qkv, heads);
  const float* in = qkv.f32();
  const int64_t blocks = (at.length + kBlock - 1) / kBlock;
  const int64_t parts = parts_of(at.batch * at.kv_heads, blocks);
  const auto block = [&](int64_t b, int64_t head, int64_t begin, const PackedMatrix& keys,
                         const PackedMatrix& values, float* scores) {
    const int64_t rows = std::min(kBlock, at.length - begin), columns = begin + rows;
    gemm(rows, columns, at.width, at.scale(), {at.query(in, b, begin, head), at.row}, keys, 0,
         {scores, at.length});
    float* lse = log_sum_exp.f32() + (b * at.query_heads + head) * at.length + begin;
    for (int64_t i = 0; i < rows; ++i) {
      lse[i] = softmax_row(scores + i * at.length, begin + i + 1, columns);
    }
    gemm(rows, at.width, columns, 1, {scores, at.length}, values, 0,
         {at.output(out.f32(), b, begin, head), at.out_row()});
  };
  parallel_for(at.batch * at.kv_heads * parts, [&](int64_t item) {
    const int64_t b = item / (at.kv_heads * parts), kv_head = item / parts % at.kv_heads;
    Workspace workspace(work, at.length, at.width);
    float* scores = workspace.scores();
    const PackedMatrix keys = workspace.transposed({at.key(in, b, kv_head), at.row});
    const PackedMatrix values = workspace.rows({at.value(in, b, kv_head), at.row});
    for (int64_t head = kv_head * at.group; head < (kv_head + 1) * at.group; ++head) {
      for (int64_t i = item % parts; i < blocks; i += parts) {
        block(b, head, i * kBlock, keys, values, scores);
      }
    }
  });
}

// One item is one key head of one sequence: its gradients are sums over query heads and blocks,
// taken in order.
void attend_backward(const Tensor& d_qkv, const ConstTensor& d_out, const ConstTensor& out,
                     const ConstTensor& log_sum_exp, const ConstTensor& qkv,
                     const AttentionHeads& heads, const Tensor& work) {
  const Layout at(qkv, heads);
  const float* in = qkv.f32();
  float* d_in = d_qkv.f32();
  parallel_for(at.batch * at.kv_heads, [&](int64_t item) {
    const int64_t b = item / at.kv_heads, kv_head = item % at.kv_heads;
    const ConstMatrix key{at.key(in, b, kv_head), at.row};
    const ConstMatrix value{at.value(in, b, kv_head), at.row};
    const Matrix d_key{at.key(d_in, b, kv_head), at.row};
    const Matrix d_value{at.value(d_in, b, kv_head), at.row};
    Workspace workspace(work, at.length, at.width);
    float *scores = workspace.scores(), *d_scores = workspace.scores();
    const PackedMatrix keys = workspace.transposed(key), values = workspace.transposed(value);
    const PackedMatrix key_rows = workspace.rows(key);
    for (int64_t t = 0; t < at.length; ++t) {
      std::fill_n(d_key.data + t * at.row, at.width, 0.0f);
      std::fill_n(d_value.data + t * at.row, at.width, 0.0f);
    }
    for (int64_t head = kv_head * at.group; head < (kv_head + 1) * at.group; ++head) {
      for (int64_t begin = 0; begin < at.length; begin += kBlock) {
        const int64_t rows = std::min(kBlock, at.length - begin), columns = begin + rows;
        const ConstMatrix query{at.query(in, b, begin, head), at.row};
        const float* o = at.output(out.f32(), b, begin, head);
        const ConstMatrix d_o{at.output(d_out.f32(), b, begin, head), at.out_row()};
        const float* lse = log_sum_exp.f32() + (b * at.query_heads + head) * at.length + begin;
        gemm(rows, columns, at.width, at.scale(), query, keys, 0, {scores, at.length});
        gemm(rows, columns, at.width, 1, d_o, values, 0, {d_scores, at.length});
        softmax_block_backward(scores, d_scores, rows, begin, at, o, d_o.data, lse);
        gemm(rows, at.width, columns, 1, {d_scores, at.length}, key_rows, 0,
             {at.query(d_in, b, begin, head), at.row});
        gemm(columns, at.width, rows, 1, {d_scores, at.length, true}, query, 1, d_key);
        gemm(columns, at.width, rows, 1, {scores, at.length, true}, d_o, 1, d_value);
      }
    }
  });
}

void attend_to_cache(const Tensor& out, const Tensor& keys, const Tensor& values,
                     const ConstTensor& qkv, const AttentionHeads& heads, int64_t past,
                     const Tensor& work) {
  const Layout at(qkv, heads);
  const float* in = qkv.f32();
  const int64_t cache_row = at.kv_heads * at.width, positions = keys.dim(0);
  const auto row_bytes = sizeof(float) * static_cast<size_t>(cache_row);
  for (int64_t t = 0; t < at.length; ++t) {
    std::memcpy(keys.f32() + (past + t) * cache_row, at.key(in, 0, 0) + t * at.row, row_bytes);
    std::memcpy(values.f32() + (past + t) * cache_row, at.value(in, 0, 0) + t * at.row, row_bytes);
  }
  const int64_t blocks = (at.length + kBlock - 1) / kBlock;
  parallel_for(at.query_heads * blocks, [&](int64_t item) {
    const int64_t head = item / blocks, begin = item % blocks * kBlock;
    const int64_t rows = std::min(kBlock, at.length - begin), columns = past + begin + rows;
    const int64_t kv_offset = head / at.group * at.width;
    float* scores = Workspace(work, positions, at.width).scores();
    gemm(rows, columns, at.width, at.scale(), {at.query(in, 0, begin, head), at.row},
         {keys.f32() + kv_offset, cache_row, true}, 0, {scores, positions});
    for (int64_t i = 0; i < rows; ++i) {
      softmax_row(scores + i * positions, past + begin + i + 1, columns);
    }
    gemm(rows, at.width, columns, 1, {scores, positions}, {values.f32() + kv_offset, cache_row}, 0,
         {at.output(out.f32(), 0, begin, head), at.out_row()});
  });
}

}  // namespace

void attention(Context& context, const Tensor& out, const Tensor& log_sum_exp,
               const ConstTensor& qkv, const AttentionHeads& heads) {
  const ArenaScope scope(context.scratch);
  const Tensor work = take_workspaces(context, qkv.dim(1), qkv.dim(3));
  run_in_f32(context, attend, writes(out), log_sum_exp, reads(qkv), heads, work);
}

void attention_backward(Context& context, const AttentionBackward& t, const AttentionHeads& heads) {
  const ArenaScope scope(context.scratch);
  const Tensor work = take_workspaces(context, t.qkv.dim(1), t.qkv.dim(3));
  run_in_f32(context, attend_backward, writes(t.d_qkv), reads(t.d_out), reads(t.out), t.log_sum_exp,
             reads(t.qkv), heads, work);
}

void cached_attention(Context& context, const Tensor& out, const Tensor& keys, const Tensor& values,
                      const ConstTensor& qkv, const AttentionHeads& heads, int64_t past) {
  const ArenaScope scope(context.scratch);
  const Tensor work = take_workspaces(context, keys.dim(0), qkv.dim(3));
  run_in_f32(context, attend_to_cache, writes(out), updates(keys), updates(values), reads(qkv),
             heads, past, work);
}

}  // namespace dashlm::cpu
