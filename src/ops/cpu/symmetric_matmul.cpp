#include "device/cpu/parallel.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/linalg_kernels.h"
#include "ops/cpu/rounding.h"
#include "ops/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

// Rows of C that are computed by one product. Thin panels waste little above the diagonal, thick
// ones are faster per operation; up to n = 256 the sizes are such that OpenBLAS takes its path for
// small products, which packs nothing. A function of n alone: results must not depend on threads.
int64_t panel_rows(int64_t n) {
  if (n <= 128) return 32;
  return n <= 256 ? 16 : 64;
}

// Copies C[i, j] to C[j, i] for rows [begin, end) and all j < i, in tiles that fit into the L1
// cache both ways.
void mirror_rows(float* c, int64_t n, int64_t begin, int64_t end) {
  constexpr int64_t kTile = 16;
  for (int64_t j0 = 0; j0 < end; j0 += kTile) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t j1 = std::min(j0 + kTile, i);
      for (int64_t j = j0; j < j1; ++j) c[j * n + i] = c[i * n + j];
    }
  }
}

// The panel of rows [begin, end) of the lower triangle, and its mirror image. Panels write to
// disjoint parts of C.
void panel(float* c, const float* a, const float* b, int64_t n, int64_t begin, int64_t end,
           const SymmetricMatmul& options) {
  gemm(end - begin, end, n, options.alpha, {a + begin * n, n}, {b, n}, options.beta,
       {c + begin * n, n});
  if (options.diagonal != 0.0f) {
    for (int64_t i = begin; i < end; ++i) c[i * n + i] += options.diagonal;
  }
  mirror_rows(c, n, begin, end);
}

void round_operand(const Tensor& out, const Tensor& operand, MatmulPrecision precision,
                   const Tensor* state) {
  const auto round_all = [&](auto round) {
    for_each_chunk(operand, [&](int64_t s, int64_t begin, int64_t end) {
      if (state && !(state->i32()[s] & kActive)) return;
      const float* in = operand.f32();
      float* to = out.f32();
      for (int64_t i = begin; i < end; ++i) to[i] = round(in[i]);
    });
  };
  switch (precision) {
    case MatmulPrecision::fp32:
      break;
    case MatmulPrecision::tf32:
      return round_all([](float x) { return round_to_tf32(x); });
    case MatmulPrecision::fp16:
      return round_all([](float x) { return round_to_fp16(x); });
    case MatmulPrecision::bf16:
      return round_all([](float x) { return round_to_bf16(x); });
  }
}

}  // namespace

Tensor rounded_operand(Context& context, const char* name, const Tensor& operand,
                       MatmulPrecision precision, const Tensor* state) {
  if (precision == MatmulPrecision::fp32) return operand;
  const Tensor out = context.scratch.take(name, operand.shape);
  if (!context.planning()) round_operand(out, operand, precision, state);
  return out;
}

void symmetric_matmul(const Tensor& c, const Tensor& a, const Tensor& b, const Tensor& inactive,
                      const SymmetricMatmul& options) {
  const int64_t n = c.dim(1), size = n * n, rows = panel_rows(n);
  const int64_t panels = (n + rows - 1) / rows;
  const int32_t* state = options.state ? options.state->i32() : nullptr;
  const bool copies = options.inactive != SymmetricMatmul::Inactive::keep;
  // The widest panel of a block first, so that the last items are short.
  for_each_item(c.dim(0), panels, size, [&](int64_t s, int64_t item) {
    const int64_t begin = (panels - 1 - item) * rows, end = std::min(begin + rows, n);
    if (!state || (state[s] & kActive)) {
      panel(c.f32() + s * size, a.f32() + s * size, b.f32() + s * size, n, begin, end, options);
    } else if (copies) {
      std::copy_n(inactive.f32() + s * size + begin * n, (end - begin) * n,
                  c.f32() + s * size + begin * n);
    }
  });
}

void from_spectrum(const Tensor& c, const Tensor& weights, const Tensor& vectors,
                   const Tensor& state, const Tensor& weighted) {
  const int64_t n = c.dim(1), size = n * n, rows = panel_rows(n);
  const int64_t panels = (n + rows - 1) / rows;
  const auto active = [&](int64_t s) { return (state.i32()[s] & kActive) != 0; };
  for_each_chunk(vectors, [&](int64_t s, int64_t begin, int64_t end) {
    if (!active(s)) return;
    const float *v = vectors.f32(), *w = weights.f32() + s * n;
    float* to = weighted.f32();
    for (int64_t i = begin; i < end; ++i) to[i] = v[i] * w[(i - s * size) / n];
  });
  for_each_item(c.dim(0), panels, size, [&](int64_t s, int64_t item) {
    if (!active(s)) return;
    const int64_t begin = (panels - 1 - item) * rows, end = std::min(begin + rows, n);
    float* out = c.f32() + s * size;
    gemm(end - begin, end, n, 1.0f, {vectors.f32() + s * size + begin, n, true},
         {weighted.f32() + s * size, n}, 0.0f, {out + begin * n, n});
    mirror_rows(out, n, begin, end);
  });
}

}  // namespace dashlm::cpu
