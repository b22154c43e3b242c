// What src/ops/core/cpu/gemm.h promises of last digits, beside what matmul_test.cpp compares with
// float64.
#include "ops/core/cpu/gemm.h"

#include <cmath>
#include <random>

#include "ops/core/cpu/micro_kernel.h"
#include "support/lab.h"

namespace dashlm::testing {
namespace {

using cpu::ConstMatrix;
using cpu::MicroKernel;
using cpu::OperandOrder;
using Floats = std::vector<float>;

Floats normal_numbers(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats x(static_cast<size_t>(count));
  for (float& value : x) value = normal(generator);
  return x;
}

// The terms of an element as kernels add them up: fused, or with a rounding of each term.
float sum_in_order(int64_t terms, bool fused, const auto& a, const auto& b) {
  float sum = 0;
  for (int64_t p = 0; p < terms; ++p) {
    const volatile float product = a(p) * b(p);  // volatile: compilers would fuse it
    sum = fused ? std::fma(a(p), b(p), sum) : sum + product;
  }
  return sum;
}

struct NamedKernel {
  const MicroKernel* kernel;
  bool fused;
};

std::vector<NamedKernel> kernels_of_this_processor() {
  std::vector<NamedKernel> found;
#ifdef __x86_64__
  found.push_back({&cpu::kBaselineMicroKernel, false});
  if (cpu::processor_instruction_set() >= cpu::InstructionSet::avx2) {
    found.push_back({&cpu::kAvx2MicroKernel, true});
  }
  if (cpu::processor_instruction_set() >= cpu::InstructionSet::avx512) {
    found.push_back({&cpu::kAvx512MicroKernel, true});
  }
#endif
  return found;
}

TEST(MicroKernel, TilesAddTermsInOrderToTheBit) {
  constexpr int64_t kTerms = 37, kStride = 40;
  const Floats a = normal_numbers(kStride * kStride, 1);
  alignas(64) float b[kTerms * MicroKernel::kMostColumns];
  std::copy_n(normal_numbers(std::ssize(b), 2).data(), std::size(b), b);
  for (const NamedKernel& named : kernels_of_this_processor()) {
    const MicroKernel* kernel = named.kernel;  // clang 14 captures no structured binding
    const bool fused = named.fused;
    for (const bool narrow : {false, true}) {
      for (const OperandOrder order : {OperandOrder::by_row, OperandOrder::by_depth}) {
        for (int64_t rows = 1; rows <= kernel->rows; ++rows) {
          const auto& tiles = narrow ? kernel->narrow_tiles : kernel->tiles;
          const int64_t columns = kernel->columns / (narrow ? 2 : 1);
          Floats c(static_cast<size_t>(rows * 50), -7.0f);
          tiles[static_cast<size_t>(order)][rows - 1](kTerms, 1.0f, a.data(), kStride, b, 0.0f,
                                                      c.data(), 50);
          for (int64_t i = 0; i < rows; ++i) {
            const auto left = [&](int64_t p) {
              return a[static_cast<size_t>(order == OperandOrder::by_row ? i * kStride + p
                                                                         : p * kStride + i)];
            };
            for (int64_t j = 0; j < 50; ++j) {
              const auto right = [&](int64_t p) { return b[p * kernel->columns + j]; };
              const float expected = j < columns ? sum_in_order(kTerms, fused, left, right) : -7.0f;
              ASSERT_EQ(c[static_cast<size_t>(i * 50 + j)], expected)
                  << kernel->columns << " columns, rows " << rows << ", narrow " << narrow
                  << ", element " << i << ", " << j;
            }
          }
        }
      }
    }
  }
}

// Sizes with edges everywhere, two blocks of terms, and several parts for threads.
constexpr int64_t kM = 301, kN = 203, kK = 300;

Floats product(int threads, int64_t m, int64_t n, ConstMatrix a, ConstMatrix b) {
  const ThreadScope scope(threads);
  Floats c(static_cast<size_t>(m * n), kNaN);  // not read where beta is 0
  cpu::gemm(m, n, kK, 1.0f, a, b, 0.0f, {c.data(), n});
  return c;
}

TEST(Gemm, BitsDependOnNeitherThreadsNorNeighboursNorPacking) {
  const Floats a = normal_numbers(kM * kK, 1), b = normal_numbers(kK * kN, 2);
  const Floats whole = product(1, kM, kN, {a.data(), kK}, {b.data(), kN});
  for (const int threads : {2, 5}) {
    EXPECT_EQ(product(threads, kM, kN, {a.data(), kK}, {b.data(), kN}), whole) << threads;
  }
  const Floats part = product(3, 77, 45, {a.data(), kK}, {b.data(), kN});
  Floats memory(static_cast<size_t>(cpu::PackedMatrix::floats(kK, kN) + 16));
  float* aligned = memory.data();
  while (reinterpret_cast<uintptr_t>(aligned) % 64 != 0) ++aligned;
  const cpu::PackedMatrix packed(aligned, kK, kN, {b.data(), kN});
  Floats from_packed(77 * 45);
  cpu::gemm(77, 45, kK, 1.0f, {a.data(), kK}, packed, 0.0f, {from_packed.data(), 45});
  for (int64_t i = 0; i < 77; ++i) {
    for (int64_t j = 0; j < 45; ++j) {
      const auto at = static_cast<size_t>(i * 45 + j);
      EXPECT_EQ(part[at], whole[static_cast<size_t>(i * kN + j)]) << i << ", " << j;
      EXPECT_EQ(from_packed[at], part[at]) << i << ", " << j;
    }
  }
}

// By a stride of 1024, A is copied; by others tiles read it where it is.
TEST(Gemm, BitsDoNotDependOnWhereTheOperandsLie) {
  const Floats a = normal_numbers(kM * kK, 1), b = normal_numbers(kK * kN, 2);
  const Floats whole = product(2, kM, kN, {a.data(), kK}, {b.data(), kN});
  for (const int64_t stride : {320, 1024}) {
    Floats rows(static_cast<size_t>(kM * stride)), columns(static_cast<size_t>(kK * stride));
    for (int64_t i = 0; i < kM; ++i) {
      for (int64_t p = 0; p < kK; ++p) {
        const float x = a[static_cast<size_t>(i * kK + p)];
        rows[static_cast<size_t>(i * stride + p)] = x;
        columns[static_cast<size_t>(p * stride + i)] = x;
      }
    }
    EXPECT_EQ(product(2, kM, kN, {rows.data(), stride}, {b.data(), kN}), whole) << stride;
    EXPECT_EQ(product(2, kM, kN, {columns.data(), stride, true}, {b.data(), kN}), whole) << stride;
  }
}

TEST(SymmetricGemm, IsTheLowerTriangleOfTheProductMirrored) {
  for (const int64_t n : {1, 7, 8, 31, 32, 33, 128, 200, 300}) {
    const Floats a = normal_numbers(n * kK, static_cast<unsigned>(n));
    const Floats start = normal_numbers(n * n, 3);
    for (const int threads : {1, 3}) {
      const ThreadScope scope(threads);
      const ConstMatrix left{a.data(), kK};
      Floats full = start, c = start;
      cpu::gemm(n, n, kK, 0.5f, left, left.transpose(), 0.25f, {full.data(), n});
      cpu::symmetric_gemm(n, kK, 0.5f, left, left.transpose(), 0.25f, {c.data(), n});
      for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const auto lower = static_cast<size_t>(std::max(i, j) * n + std::min(i, j));
          ASSERT_EQ(c[static_cast<size_t>(i * n + j)], full[lower]) << n << ": " << i << ", " << j;
        }
      }
    }
  }
}

TEST(Gemm, WithoutTermsOnlyBetaActs) {
  Floats c = {1, 2, 3, 4, 5, 6};
  cpu::gemm(2, 3, 0, 1.0f, {nullptr, 1}, {nullptr, 1}, 0.5f, {c.data(), 3});
  EXPECT_EQ(c, (Floats{0.5f, 1, 1.5f, 2, 2.5f, 3}));
}

}  // namespace
}  // namespace dashlm::testing
