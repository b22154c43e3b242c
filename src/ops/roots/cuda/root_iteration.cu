#include "ops/roots/backends.h"
#include "ops/stacks/cuda/magnitudes.cuh"
#include "ops/stacks/cuda/stack_chunks.cuh"

namespace dashlm::cuda {
namespace {

// An operation has up to three steps: the largest magnitude of each block, the decision about the
// block, and its elements.

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
    const bool active = bits != 0 && bits < kInfinityBits;
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

// --- restart_blocks

__global__ void restart(int64_t blocks, int32_t* state) {
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    int32_t flags = state[s];
    if (flags & (kFailed | kZero)) continue;
    if (flags & kActive) flags |= kLate;
    state[s] = flags | kActive;
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

}  // namespace

void normalize_blocks(Context& context, const Tensor& out, const Tensor& unit, const Tensor& state,
                      const ConstTensor& factors, float least) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = factors.dim(0);
  const Tensor largest = take_magnitudes(context, blocks);
  const StackChunks chunks(factors);
  launch(context, largest_kernel, chunks.shape(), chunks, largest.i32(), factors.f32(), nullptr);
  launch(context, choose_units, for_elements(blocks), blocks, unit.f32(), state.i32(),
         largest.i32(), least);
  launch(context, divide_by_units, chunks.shape(), chunks, out.f32(), factors.f32(), unit.f32(),
         state.i32());
}

void restart_blocks(Context& context, const Tensor& state) {
  launch(context, restart, for_elements(state.elements()), state.elements(), state.i32());
}

void fail_above(Context& context, const Tensor& state, const ConstTensor& value, float limit) {
  launch(context, fail_above_kernel, for_elements(state.elements()), state.elements(), state.i32(),
         value.f32(), limit);
}

void store_roots(Context& context, const Tensor& roots, const ConstTensor& result,
                 const ConstTensor& multiplier, const Tensor& state) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = roots.dim(0);
  const Tensor largest = take_magnitudes(context, blocks);
  const float* factor = multiplier.f32();
  const StackChunks chunks(roots);
  launch(context, largest_kernel, chunks.shape(), chunks, largest.i32(), result.f32(), state.i32());
  launch(context, judge_roots, for_elements(blocks), blocks, state.i32(), largest.i32(), factor);
  launch(context, scale_roots, chunks.shape(), chunks, roots.f32(), result.f32(), factor,
         state.i32());
}

}  // namespace dashlm::cuda
