#include "ops/roots/root_iteration.h"

#include "ops/core/cuda/operations.h"
#include "ops/roots/cuda/newton_test.cuh"
#include "ops/stacks/cuda/stack_chunks.cuh"

namespace dashlm::cuda {
namespace {

// An operation has up to three steps: the largest magnitude of each block, the decision about the
// block, and its elements.

constexpr int32_t kInfinity = 0x7F800000;  // bits; those of NaN are larger

__device__ float from_bits(int32_t bits) {
  return __uint_as_float(static_cast<uint32_t>(bits));
}

// largest = max(largest, value of any thread of this thread block)
__device__ void raise_to(int32_t* largest, int32_t value) {
  value = block_reduce(value, 0, Larger());
  if (threadIdx.x == 0) atomicMax(largest, value);
}

// largest (S): the bits of max |x| of each block; they are zero before. With a null state all
// blocks take part.
__global__ void largest_kernel(StackChunks chunks, int32_t* largest, const float* x,
                               const int32_t* state) {
  for (int64_t item = blockIdx.x; item < chunks.count(); item += gridDim.x) {
    const Chunk chunk = chunks[item];
    if (state && (state[chunk.s] & (kZero | kFailed))) continue;
    const float* in = x + chunk.start;
    int32_t most = 0;
    for (int64_t i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      most = Larger()(most, magnitude_bits(in[i]));
    }
    raise_to(largest + chunk.s, most);
  }
}

// --- normalize_blocks

__global__ void choose_units(int64_t blocks, float* unit, int32_t* state, const int32_t* largest,
                             float least) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    const int32_t bits = largest[s];
    const bool active = bits != 0 && bits < kInfinity;
    state[s] = active ? kActive : bits == 0 ? kZero : kFailed;
    // The largest power of two that is not above the magnitude.
    unit[s] = active ? ldexpf(1.0f, ilogbf(fmaxf(from_bits(bits), least))) : 1.0f;
  }
}

__global__ void divide_by_units(StackChunks chunks, float* out, const float* factors,
                                const float* unit, const int32_t* state) {
  for (int64_t item = blockIdx.x; item < chunks.count(); item += gridDim.x) {
    const Chunk chunk = chunks[item];
    const float* in = factors + chunk.start;
    float* to = out + chunk.start;
    const bool active = state[chunk.s] == kActive;
    // 1 / unit may overflow, its root does not. So there are two exact multiplications.
    const int exponent = -ilogbf(unit[chunk.s]);
    const float half = ldexpf(1.0f, exponent / 2);
    const float other = ldexpf(1.0f, exponent - exponent / 2);
    for (int64_t i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      to[i] = active ? in[i] * half * other : 0.0f;
    }
  }
}

// --- newton_correction

// N = a·I + b·M and the bits of max |M - I|, in one pass. N may be M, since the same thread reads
// and writes an element.
__global__ void correct(StackChunks chunks, int64_t order, float* n, const float* m, float a,
                        float b, const int32_t* state, int32_t* largest) {
  for (int64_t item = blockIdx.x; item < chunks.count(); item += gridDim.x) {
    const Chunk chunk = chunks[item];
    if (!(state[chunk.s] & kActive)) continue;
    const float* in = m + chunk.start;
    float* out = n + chunk.start;
    int32_t most = 0;
    DiagonalWalk diagonal(chunk.begin + threadIdx.x, order);
    for (int64_t i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      const float x = in[i];
      const bool on_diagonal = diagonal.next();
      most = Larger()(most, magnitude_bits(on_diagonal ? x - 1.0f : x));
      out[i] = on_diagonal ? a + b * x : b * x;
    }
    raise_to(largest + chunk.s, most);
  }
}

__global__ void judge(int64_t blocks, int32_t* state, int32_t* steps, float* residual,
                      const int32_t* largest, float tolerance, bool first) {
  constexpr float kDiverged = 2.0f;  // see root_iteration.h
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    if (!(state[s] & kActive)) continue;
    const float most = from_bits(largest[s]);
    residual[s] = most;
    if (largest[s] >= kInfinity || (!first && most > kDiverged)) {
      state[s] = kFailed;
    } else if (most < tolerance) {
      state[s] &= ~kActive;
    } else {
      ++steps[s];
    }
  }
}

__global__ void restart(int64_t blocks, int32_t* state) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    int32_t flags = state[s];
    if (flags & (kFailed | kZero)) continue;
    if (flags & kActive) flags |= kLate;
    state[s] = flags | kActive;
  }
}

// --- spectral_root

__device__ double with_ridge(double v, double least, double eps, EigenvalueHeuristic heuristic) {
  switch (heuristic) {
    case EigenvalueHeuristic::shift:
      return v + eps - (least < 0.0 ? least : 0.0);
    case EigenvalueHeuristic::abs:
      return fabs(v);
    case EigenvalueHeuristic::abs_plus_eps:
      return fabs(v) + eps;
    case EigenvalueHeuristic::relu:
      return (v < 0.0 ? 0.0 : v) + eps;
  }
  return v;
}

// A thread block for each block of the stack.
__global__ void spectral_root_kernel(int64_t blocks, int64_t n, float* weights, float* largest,
                                     float* condition, const float* values, const float* unit,
                                     const int32_t* state, SpectralRoot options) {
  for (int64_t s = blockIdx.x; s < blocks; s += gridDim.x) {
    const bool active = state[s] & kActive;
    if (!active) {
      if (threadIdx.x == 0) largest[s] = condition[s] = 0.0f;
      continue;
    }
    const float* v = values + s * n;
    const double one = unit[s];
    const double most = fmax(fabs(v[0]), fabs(v[n - 1]));  // they ascend
    const double eps = options.relative_ridge ? options.ridge * most * one : options.ridge;
    const double added = options.double_ridge ? eps : 0.0;
    // With a cut-off the least eigenvalue that counts is positive, so no shift is needed.
    const bool cut = options.rank_rtol > 0;
    const double least = cut ? 0.0 : v[0] * one + added;
    double low = HUGE_VAL, high = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      weights[s * n + i] = 0.0f;
      if (cut && v[i] < options.rank_rtol * most) continue;
      const double h = with_ridge(v[i] * one + added, least, eps, options.heuristic);
      low = fmin(low, h);
      high = fmax(high, h);
      if (h > 0) weights[s * n + i] = static_cast<float>(pow(h, -options.exponent));
    }
    low = block_reduce(low, HUGE_VAL, [](double a, double b) { return fmin(a, b); });
    high = block_reduce(high, 0.0, [](double a, double b) { return fmax(a, b); });
    if (threadIdx.x == 0) {
      largest[s] = static_cast<float>(most);
      condition[s] = low > 0 ? static_cast<float>(high / low) : HUGE_VALF;
    }
  }
}

// --- fail_above

__global__ void fail_above_kernel(int64_t blocks, int32_t* state, const float* value, float limit) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    if ((state[s] & kActive) && !(value[s] <= limit)) state[s] = kFailed;
  }
}

// --- store_roots

__global__ void judge_roots(int64_t blocks, int32_t* state, const int32_t* largest,
                            const float* multiplier) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    if (state[s] & (kZero | kFailed)) continue;
    // Rounding keeps order, so the largest product is finite if and only if all are.
    const float factor = multiplier ? multiplier[s] : 1.0f;
    if (!isfinite(from_bits(largest[s]) * factor) || !isfinite(factor)) state[s] = kFailed;
  }
}

__global__ void scale_roots(StackChunks chunks, float* roots, const float* result,
                            const float* multiplier, const int32_t* state) {
  for (int64_t item = blockIdx.x; item < chunks.count(); item += gridDim.x) {
    const Chunk chunk = chunks[item];
    const bool zero = state[chunk.s] & kZero;
    if (!zero && (state[chunk.s] & kFailed)) continue;
    const float factor = multiplier ? multiplier[chunk.s] : 1.0f;
    const float* from = result + chunk.start;
    float* to = roots + chunk.start;
    for (int64_t i = chunk.begin + threadIdx.x; i < chunk.end; i += blockDim.x) {
      to[i] = zero ? 0.0f : factor * from[i];
    }
  }
}

// --- report_roots

// The tensors that report_roots_kernel reads and writes, each (S).
struct ReportArrays {
  int32_t *status, *failures;
  float *scale, *condition;
  const int32_t* state;
  const float* unit;
};

__global__ void report_roots_kernel(int64_t blocks, ReportArrays r, bool iterative) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    const int32_t state = r.state[s];
    const bool failed = state & kFailed, zero = state & kZero;
    const bool late = (state & kLate) || (iterative && (state & kActive));
    const RootStatus status = failed ? RootStatus::failed
                              : late ? RootStatus::out_of_steps
                                     : RootStatus::ok;
    r.status[s] = static_cast<int32_t>(status);
    r.failures[s] = failed ? r.failures[s] + 1 : 0;
    r.scale[s] = zero ? 0.0f : r.scale[s] * r.unit[s];
    if (zero) r.condition[s] = 0.0f;
  }
}

}  // namespace

Tensor take_magnitudes(Context& context, int64_t blocks) {
  const Tensor largest = context.scratch.take("largest magnitudes", {blocks}, DType::i32);
  if (!context.planning()) context.device.clear(largest.data, largest.bytes());
  return largest;
}

void judge_blocks(const Context& context, const NewtonTest& test, const Tensor& largest) {
  const int64_t blocks = largest.elements();
  launch(stream_of(context), judge, for_elements(blocks), blocks, test.state.i32(),
         test.steps.i32(), test.residual.f32(), largest.i32(), test.tolerance, test.first);
}

void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const Tensor& factors, float least) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = factors.dim(0);
  const Tensor largest = take_magnitudes(context, blocks);
  if (context.planning()) return;
  const StackChunks chunks(factors);
  launch(stream_of(context), largest_kernel, chunks.shape(), chunks, largest.i32(), factors.f32(),
         nullptr);
  launch(stream_of(context), choose_units, for_elements(blocks), blocks, unit.f32(), state.i32(),
         largest.i32(), least);
  launch(stream_of(context), divide_by_units, chunks.shape(), chunks, out.f32(), factors.f32(),
         unit.f32(), state.i32());
}

void newton_correction(Context& context, const Tensor& n, const Tensor& m, float a, float b,
                       const NewtonTest& test) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = m.dim(0);
  const Tensor largest = take_magnitudes(context, blocks);
  if (context.planning()) return;
  const StackChunks chunks(m);
  launch(stream_of(context), correct, chunks.shape(), chunks, m.dim(1), n.f32(), m.f32(), a, b,
         test.state.i32(), largest.i32());
  judge_blocks(context, test, largest);
}

void restart_blocks(Context& context, const Tensor& state) {
  if (context.planning()) return;
  launch(stream_of(context), restart, for_elements(state.elements()), state.elements(),
         state.i32());
}

void spectral_root(Context& context, const Tensor& weights, const Tensor& largest,
                   const Tensor& condition, const Tensor& values, const Tensor& unit,
                   const Tensor& state, const SpectralRoot& options) {
  if (context.planning()) return;
  const int64_t blocks = values.dim(0);
  launch(stream_of(context), spectral_root_kernel, for_elements(blocks * kThreads), blocks,
         values.dim(1), weights.f32(), largest.f32(), condition.f32(), values.f32(), unit.f32(),
         state.i32(), options);
}

void fail_above(Context& context, const Tensor& state, const Tensor& value, float limit) {
  if (context.planning()) return;
  launch(stream_of(context), fail_above_kernel, for_elements(state.elements()), state.elements(),
         state.i32(), value.f32(), limit);
}

void store_roots(Context& context, const Tensor& roots, const Tensor& result,
                 const Tensor* multiplier, const Tensor& state) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = roots.dim(0);
  const Tensor largest = take_magnitudes(context, blocks);
  if (context.planning()) return;
  const float* factor = multiplier ? multiplier->f32() : nullptr;
  const StackChunks chunks(roots);
  launch(stream_of(context), largest_kernel, chunks.shape(), chunks, largest.i32(), result.f32(),
         state.i32());
  launch(stream_of(context), judge_roots, for_elements(blocks), blocks, state.i32(), largest.i32(),
         factor);
  launch(stream_of(context), scale_roots, chunks.shape(), chunks, roots.f32(), result.f32(), factor,
         state.i32());
}

void report_roots(Context& context, const RootReports& reports, const Tensor& state,
                  const Tensor& unit, bool iterative) {
  if (context.planning()) return;
  const int64_t blocks = state.elements();
  const ReportArrays arrays{reports.status.i32(), reports.failures.i32(),
                            reports.scale.f32(),  reports.condition.f32(),
                            state.i32(),          unit.f32()};
  launch(stream_of(context), report_roots_kernel, for_elements(blocks), blocks, arrays, iterative);
}

}  // namespace dashlm::cuda
