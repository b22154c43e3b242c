#include <array>
#include <cmath>

#include "base/random.h"
#include "ops/core/cpu/gemm.h"
#include "ops/core/cpu/rounding.h"
#include "ops/stacks/backends.h"
#include "ops/stacks/cpu/rounded_operand.h"
#include "ops/stacks/cpu/stack_batches.h"
#include "ops/stacks/cpu/stack_loops.h"

namespace dashlm::cpu {
namespace {

float value_of(const BlockScalar& scalar, int64_t s) {
  return scalar.per_block ? scalar.constant * scalar.per_block.f32()[s] : scalar.constant;
}

// Sums term(i) over [0, count) in eight interleaved partial sums, whatever the vector width.
template <class Term>
double sum_of(int64_t count, const Term& term) {
  constexpr int64_t kLanes = 8;
  std::array<double, kLanes> lanes = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      lanes[static_cast<size_t>(lane)] += term(i + lane);
    }
  }
  double total = 0;
  for (; i < count; ++i) total += term(i);
  for (const double lane : lanes) total += lane;
  return total;
}

double norm(const float* x, int64_t count) {
  return std::sqrt(sum_of(count, [x](int64_t i) { return static_cast<double>(x[i]) * x[i]; }));
}

// Multiples of 16 floats, so that vectors are aligned alike whatever n.
int64_t padded(int64_t n) {
  return (n + 15) / 16 * 16;
}

// Uniform in [-1, 1): four 16-bit numbers from each 64 random bits.
void fill_uniform(float* v, int64_t n, const CounterRandom& random, uint64_t element) {
  for (int64_t i = 0; i < n; i += 4) {
    const uint64_t bits = random.bits(element + static_cast<uint64_t>(i / 4));
    for (int64_t k = 0; k < std::min<int64_t>(4, n - i); ++k) {
      const auto word = static_cast<int16_t>(static_cast<uint16_t>(bits >> (16 * k)));
      v[i + k] = (static_cast<float>(word) + 0.5f) * 0x1p-15f;
    }
  }
}

// Scales v to length 1 and rounds it for the next product; returns its length before.
double normalize(float* v, int64_t n, MatmulPrecision precision) {
  const double length = norm(v, n);
  const auto factor = static_cast<float>(length > 0 ? 1.0 / length : 0.0);
  for (int64_t i = 0; i < n; ++i) v[i] = round_to(precision, v[i] * factor);
  return length;
}

// Power iterations on a rounded A, whose vectors are yet to be rounded. `work` has two sets of
// vectors for each thread.
void iterate(const Tensor& out, const ConstTensor& matrix, const PowerIteration& options,
             const Tensor& work) {
  const int64_t n = matrix.dim(1), stride = padded(n), pool = options.pool;
  const CounterRandom random(options.seed, Purpose::power_iteration,
                             static_cast<uint64_t>(options.step));
  for_each_block(matrix, [&](int64_t s) {
    float* v = work.f32() + omp_get_thread_num() * 2 * pool * stride;  // (pool, n)
    float* product = v + pool * stride;
    const auto id = static_cast<uint64_t>(options.block_ids[static_cast<size_t>(s)]) << 32;
    for (int64_t k = 0; k < pool; ++k) {
      fill_uniform(v + k * stride, n, random, id + static_cast<uint64_t>(k * stride));
      normalize(v + k * stride, n, options.precision);
    }
    double estimate = 0;
    for (int64_t step = 0; step < options.steps; ++step) {
      gemm(pool, n, n, 1.0f, {v, stride}, {matrix.f32() + s * n * n, n}, 0.0f, {product, stride});
      std::swap(v, product);
      estimate = 0;
      for (int64_t k = 0; k < pool; ++k) {
        estimate = std::max(estimate, normalize(v + k * stride, n, options.precision));
      }
    }
    out.f32()[s] = static_cast<float>(estimate);
  });
}

}  // namespace

void identity_plus(Context&, const Tensor& c, const BlockScalar& a, const BlockScalar& b,
                   const ConstTensor& matrix) {
  const int64_t n = c.dim(1), size = n * n;
  for_each_chunk(c, [&](int64_t s, int64_t begin, int64_t end) {
    const float diagonal = value_of(a, s), factor = value_of(b, s);
    const float* in = matrix.f32();
    float* out = c.f32();
    for (int64_t i = begin; i < end; ++i) out[i] = factor * in[i];
    const int64_t start = s * size;
    int64_t i = (begin - start + n) / (n + 1) * (n + 1);  // the first diagonal element from `begin`
    for (; i < end - start; i += n + 1) out[start + i] += diagonal;
  });
}

void add_to_diagonal(Context&, const Tensor& matrix, const BlockScalar& value) {
  const int64_t n = matrix.dim(1);
  for_each_block(matrix, [&](int64_t s) {
    float* block = matrix.f32() + s * n * n;
    const float v = value_of(value, s);
    for (int64_t i = 0; i < n; ++i) block[i * (n + 1)] += v;
  });
}

void scaled_power(Context&, const Tensor& out, const ConstTensor& x, const ConstTensor& y,
                  double multiplier, double exponent) {
  for (int64_t i = 0; i < x.elements(); ++i) {
    const double base = static_cast<double>(x.f32()[i]) * (y ? y.f32()[i] : 1.0f);
    out.f32()[i] = static_cast<float>(multiplier * std::pow(base, exponent));
  }
}

void frobenius_norm(Context& context, const Tensor& out, const ConstTensor& matrix) {
  const int64_t size = matrix.dim(1) * matrix.dim(2);
  const auto of_block = [&](int64_t s) {
    out.f32()[s] = static_cast<float>(norm(matrix.f32() + s * size, size));
  };
  context.compute([&] { for_each_block(matrix, of_block); });
}

void eigenvalue_bound(Context& context, const Tensor& out, const ConstTensor& matrix) {
  const int64_t n = matrix.dim(1);
  const auto of_block = [&](int64_t s) {
    const float* block = matrix.f32() + s * n * n;
    double largest = 0, squares = 0;
    for (int64_t i = 0; i < n; ++i) {
      const float* row = block + i * n;
      largest = std::max(largest, sum_of(n, [row](int64_t j) { return std::fabs(row[j]); }));
      squares += sum_of(n, [row](int64_t j) { return static_cast<double>(row[j]) * row[j]; });
    }
    out.f32()[s] = static_cast<float>(std::min(largest, std::sqrt(squares)));
  };
  context.compute([&] { for_each_block(matrix, of_block); });
}

void power_iteration(Context& context, const Tensor& out, const ConstTensor& matrix,
                     const PowerIteration& options) {
  const ArenaScope scope(context.scratch);
  // Two sets of vectors for each thread.
  const Tensor work = context.scratch.take(
      "power iteration", {threads_of_operation(), 2, options.pool, padded(matrix.dim(1))});
  const ConstTensor rounded = rounded_operand(context, "rounded A", matrix, options.precision);
  context.compute(iterate, out, rounded, options, work);
}

}  // namespace dashlm::cpu
