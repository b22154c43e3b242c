// Products of fp32 matrices, which are nearly all the work of a training step.
//
// C is computed tile by tile (micro_kernel.h). Operands are first copied ("packed") into the order
// in which tiles read them. B is packed once for all threads. A band of A is packed by each thread
// that needs it, if tiles cannot read it well in place.
//
// An element is the sum of blocks of kDepth terms, each added up in order. The tiles, and the
// threads that compute them, never change a result. It depends on neither the number of threads,
// nor the other rows and columns, nor (with fused multiply-adds) the instruction set.
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

// C (m, n) = alpha · op(A) (m, k) · op(B) (k, n) + beta · C. If beta is 0, C is not read. C must
// not overlap A or B. All threads take part. Within parallel_for() the calling thread works alone.
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

// gemm() on the calling thread, with the first k rows and n columns of a packed operand.
void gemm(int64_t m, int64_t n, int64_t k, float alpha, ConstMatrix a, const PackedMatrix& b,
          float beta, Matrix c);

// The same for a product (n, n) that is symmetric up to rounding. Its lower triangle is computed
// and mirrored, in little more than half the time.
void symmetric_gemm(int64_t n, int64_t k, float alpha, ConstMatrix a, ConstMatrix b, float beta,
                    Matrix c);

// With fewer multiply-adds it does not pay that threads wait for each other. This is some 10 µs of
// a thread.
constexpr int64_t kWorthSharing = 1 << 20;

// Calls body(s) for each product of a stack. If there are enough products, or if they are small,
// one thread computes each. Otherwise all threads compute one product after the other.
template <class Body>
void for_each_matrix(int64_t stack, int64_t multiply_adds_of_one, const Body& body) {
  if (stack >= kPartsForThread * max_threads() ||
      (stack > 1 && multiply_adds_of_one < kWorthSharing)) {
    return parallel_for(stack, body);
  }
  for (int64_t s = 0; s < stack; ++s) body(s);
}

}  // namespace dashlm::cpu
