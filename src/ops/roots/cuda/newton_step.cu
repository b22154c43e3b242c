#include "ops/roots/backends.h"
#include "ops/stacks/cuda/magnitudes.cuh"
#include "ops/stacks/cuda/stack_chunks.cuh"
#include "ops/stacks/cuda/symmetric_product.cuh"

namespace dashlm::cuda {
namespace {

// N = a·I + b·M and the bits of max |M - I|, in one pass. N may be M, since the same
// thread reads and writes an element.
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
  constexpr float kDiverged = 2.0f;  // see newton_step.h
  for (int64_t s = first_element(); s < blocks; s += element_step()) {
    if (!(state[s] & kActive)) continue;
    const float most = from_bits(largest[s]);
    residual[s] = most;
    if (largest[s] >= kInfinityBits || (!first && most > kDiverged)) {
      state[s] = kFailed;
    } else if (most < tolerance) {
      state[s] &= ~kActive;
    } else {
      ++steps[s];
    }
  }
}

// The decision about each active block whose residual has these bits.
void judge_blocks(const Context& context, const NewtonTest& test, const ConstTensor& largest) {
  const int64_t blocks = largest.elements();
  launch(context, judge, for_elements(blocks), blocks, test.state.i32(), test.steps.i32(),
         test.residual.f32(), largest.i32(), test.tolerance, test.first);
}

// What becomes of an element of the product A·B: it is stored in M and corrected in N. The largest
// magnitude of M - I counts.
template <class T>
struct Correct {
  Stored<T> m, n;
  float a, b;
  int32_t* largest;  // (S)

  __device__ int32_t put(int64_t s, int64_t i, int64_t j, float x, bool lower) const {
    const int64_t row = s * n.n + i;
    m.put(row, j, x, lower);
    n.put(row, j, i == j ? a + b * x : b * x, lower);
    return magnitude_bits(i == j ? x - 1.0f : x);
  }
  __device__ bool copies() const { return false; }
  __device__ void copy(int64_t, int64_t, int64_t) const {}
  __device__ void finish(int64_t s, int32_t most) const { atomicMax(largest + s, most); }
};

}  // namespace

void newton_correction(Context& context, const Tensor& n, const ConstTensor& m, float a, float b,
                       const NewtonTest& test) {
  const ArenaScope scope(context.scratch);
  const int64_t blocks = m.dim(0);
  const Tensor largest = take_magnitudes(context, blocks);
  const StackChunks chunks(m);
  launch(context, correct, chunks.shape(), chunks, m.dim(1), n.f32(), m.f32(), a, b,
         test.state.i32(), largest.i32());
  judge_blocks(context, test, largest);
}

void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test) {
  const SymmetricStack &n = product.n, &m = product.m;
  const Shape shape = n.shape();
  const ArenaScope scope(context.scratch);
  const Tensor values = m.has_values()   ? m.values
                        : n.has_values() ? n.values
                                         : context.scratch.take("symmetric product", shape);
  const Tensor largest = take_magnitudes(context, shape[0]);
  const Operands operands(context, product.a, product.b, product.precision);
  context.compute([&] {
    operands.multiply(context, values, {}, {}, test.state.i32());
    with_rounded(n.has_copy() ? n.rounded : m.rounded, [&]<class T>(T*) {
      mirror(context, lower_of<float>(values, test.state),
             Correct<T>{stored<T>(m, values), stored<T>(n, {}), a, b, largest.i32()});
    });
    judge_blocks(context, test, largest);
  });
}

}  // namespace dashlm::cuda
