#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "ops/roots/backends.h"
#include "ops/roots/cpu/magnitude_bits.h"
#include "ops/stacks/backends.h"
#include "ops/stacks/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

// value = max(value, candidate), where threads compete; both are not negative, or NaN.
void raise_to(float& value, uint32_t candidate) {
  const std::atomic_ref<float> shared(value);
  float present = shared.load(std::memory_order_relaxed);
  while (magnitude_bits(present) < candidate &&
         !shared.compare_exchange_weak(present, std::bit_cast<float>(candidate),
                                       std::memory_order_relaxed)) {
  }
}

// N = a·I + b·M on the elements [begin, end) of a block; returns the bits of max |M - I| there.
uint32_t correct(float* out, const float* in, int64_t n, int64_t begin, int64_t end, float a,
                 float b) {
  uint32_t largest = 0;
  for (int64_t row = begin / n; row * n < end; ++row) {
    const int64_t from = std::max(begin, row * n), to = std::min(end, (row + 1) * n);
    const int64_t middle = row * (n + 1);
    const bool has_diagonal = middle >= from && middle < to;
    const float diagonal = has_diagonal ? in[middle] : 1.0f;
    // The diagonal element counts as M, not M - I, unless it is taken out first.
    const auto part = [&](int64_t first, int64_t last) {
      uint32_t most = 0;
      for (int64_t i = first; i < last; ++i) {
        most = std::max(most, magnitude_bits(in[i]));
        out[i] = b * in[i];
      }
      largest = std::max(largest, most);
    };
    part(from, has_diagonal ? middle : to);
    if (has_diagonal) {
      largest = std::max(largest, magnitude_bits(diagonal - 1.0f));
      out[middle] = a + b * diagonal;
      part(middle + 1, to);
    }
  }
  return largest;
}

// What a block does after its residual is known.
void judge(const NewtonTest& test, int64_t s) {
  constexpr float kDiverged = 2.0f;  // see newton_step.h
  int32_t& state = test.state.i32()[s];
  const float residual = test.residual.f32()[s];
  if (!std::isfinite(residual) || (!test.first && residual > kDiverged)) {
    state = kFailed;
  } else if (residual < test.tolerance) {
    state &= ~kActive;
  } else {
    ++test.steps.i32()[s];
  }
}

void correct_blocks(const Tensor& n, const ConstTensor& m, float a, float b,
                    const NewtonTest& test) {
  const int64_t order = m.dim(1), size = order * order;
  const int32_t* state = test.state.i32();
  float* residual = test.residual.f32();
  for (int64_t s = 0; s < m.dim(0); ++s) {
    if (state[s] & kActive) residual[s] = 0.0f;
  }
  for_each_chunk(m, [&](int64_t s, int64_t begin, int64_t end) {
    if (!(state[s] & kActive)) return;
    const int64_t start = s * size;
    raise_to(residual[s],
             correct(n.f32() + start, m.f32() + start, order, begin - start, end - start, a, b));
  });
  for (int64_t s = 0; s < m.dim(0); ++s) {
    if (state[s] & kActive) judge(test, s);
  }
}

}  // namespace

void newton_correction(Context& context, const Tensor& n, const ConstTensor& m, float a, float b,
                       const NewtonTest& test) {
  context.compute(correct_blocks, n, m, a, b, test);
}

void newton_product(Context& context, const NewtonProduct& product, float a, float b,
                    const NewtonTest& test) {
  const SymmetricStack& m = product.m ? product.m : product.n;
  cpu::symmetric_matmul(context, m, product.a, product.b,
                        {.precision = product.precision, .state = test.state});
  cpu::newton_correction(context, product.n.values, m.values, a, b, test);
}

}  // namespace dashlm::cpu
