// Products of fp32 matrices, the work of nearly all of a training step.
//
// C is computed tile by tile (micro_kernel.h). Before that, operands are copied ("packed") into the
// order in which tiles read them: B once for all threads; of A a band by each thread that needs it,
// where tiles cannot read it well as it lies.
//
// An element is the sum of blocks of kDepth terms, each added up in order. How C is cut into tiles,
// and which thread computes them, never shows in a result: it depends on neither the number of
// threads, nor the other rows and columns, nor (with fused multiply-adds) the instruction set.
#pragma once

#include <cstdint>

#include "device/cpu/parallel.h"

namespace dashlm::cpu {

// A row-major matrix inside a larger one: `stride` elements from one row to the next.
struct Matrix {
  float* data;
  int64_t stride;
};
struct ConstMatrix {
  const float* data;
  int64_t stride;
  bool transposed = false;

  ConstMatrix transpose() const { return {data, stride, !transposed}; }
};

// C (m, n) = alpha · op(A) (m, k) · op(B) (k, n) + beta · C. Where beta is 0, C is not read. C must
// not overlap A or B. All threads take part outside of parallel_for(), the calling one alone
// within.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, ConstMatrix a, ConstMatrix b, float beta,
          Matrix c);

// An operand op(B) (k, n) that is packed once, for many products by the thread that packs it.
class PackedMatrix {
 public:
  static int64_t floats(int64_t k, int64_t n);  // of `memory`, which is aligned to 64 bytes
  PackedMatrix(float* memory, int64_t k, int64_t n, ConstMatrix b);

  const float* data() const { return data_; }
  int64_t terms() const { return terms_; }

 private:
  const float* data_;
  int64_t terms_;
};

// gemm() by the calling thread, with the first k rows and n columns of a packed operand.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, ConstMatrix a, const PackedMatrix& b,
          float beta, Matrix c);

// The same for a product (n, n) that is symmetric up to rounding: its lower triangle is computed,
// in little more than half the time, and mirrored.
void symmetric_gemm(int64_t n, int64_t k, float alpha, ConstMatrix a, ConstMatrix b, float beta,
                    Matrix c);

// Multiply-adds that are worth the threads' waiting for each other: some 10 µs of one of them.
constexpr int64_t kWorthSharing = 1 << 20;

// Calls body(s) for each of a stack of products: by one thread each where there are enough of them,
// or they are too small to be shared by threads; else one after the other, all threads in each.
template <class Body>
void for_each_matrix(int64_t stack, int64_t multiply_adds_of_one, const Body& body) {
  if (stack >= kPartsForThread * max_threads() ||
      (stack > 1 && multiply_adds_of_one < kWorthSharing)) {
    return parallel_for(stack, body);
  }
  for (int64_t s = 0; s < stack; ++s) body(s);
}

}  // namespace dashlm::cpu
