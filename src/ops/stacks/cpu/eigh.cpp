#include "ops/stacks/cpu/eigh.h"

#include <cmath>

#include "ops/stacks/backends.h"
#include "ops/stacks/cpu/stack_batches.h"
#include "ops/stacks/cpu/stack_loops.h"

// LAPACK's own routines, which libopenblas contains: divide and conquer for symmetric matrices.
extern "C" {
void ssyevd_(const char* jobz, const char* uplo, const int* n, float* a, const int* lda, float* w,
             float* work, const int* lwork, int* iwork, const int* liwork, int* info);
void dsyevd_(const char* jobz, const char* uplo, const int* n, double* a, const int* lda, double* w,
             double* work, const int* lwork, int* iwork, const int* liwork, int* info);
}

namespace dashlm::cpu {
namespace {

// Sizes of workspace that LAPACK documents for eigenvectors.
int64_t real_work(int64_t n) {
  return 1 + 6 * n + 2 * n * n;
}
int64_t integer_work(int64_t n) {
  return 3 + 5 * n;
}

// Floats (or integers of the same size), as a multiple of a cache line, so that every part of the
// workspace is aligned alike.
int64_t rounded(int64_t elements) {
  return (elements + 15) / 16 * 16;
}

bool all_finite(const float* x, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; ++i) finite = finite && std::isfinite(x[i]);
  return finite;
}

// Eigenvalues and eigenvectors (in rows) of a row-major symmetric matrix; LAPACK's columns are our
// rows. False when LAPACK reports an error.
bool eigh_f32(float* values, float* vectors, const float* matrix, int64_t n, float* work) {
  float* a = work;
  float* real = a + rounded(n * n);
  auto* integers = reinterpret_cast<int*>(real + rounded(real_work(n)));
  std::copy_n(matrix, n * n, a);
  const int order = static_cast<int>(n), real_size = static_cast<int>(real_work(n)),
            integer_size = static_cast<int>(integer_work(n));
  int info = 0;
  ssyevd_("V", "L", &order, a, &order, values, real, &real_size, integers, &integer_size, &info);
  std::copy_n(a, n * n, vectors);
  return info == 0 && all_finite(values, n) && all_finite(vectors, n * n);
}

// The same in double precision, with memory of its own: rare, or asked for.
bool eigh_f64(float* values, float* vectors, const float* matrix, int64_t n) {
  std::vector<double> a(matrix, matrix + n * n), w(static_cast<size_t>(n));
  const bool done = eigh_in_place(a, w);
  for (size_t i = 0; i < w.size(); ++i) values[i] = static_cast<float>(w[i]);
  for (size_t i = 0; i < a.size(); ++i) vectors[i] = static_cast<float>(a[i]);
  return done && all_finite(values, n) && all_finite(vectors, n * n);
}

// A matrix and LAPACK's workspace for each thread.
Tensor take_workspaces(Context& context, int64_t n, EighPrecision precision) {
  const int64_t floats = rounded(n * n) + rounded(real_work(n)) + rounded(integer_work(n));
  return context.scratch.take(
      "eigh", {threads_of_operation(), precision == EighPrecision::float32 ? floats : 0});
}

}  // namespace

bool eigh_in_place(std::vector<double>& a, std::vector<double>& values) {
  const int64_t n = std::ssize(values);
  std::vector<double> real(static_cast<size_t>(real_work(n)));
  std::vector<int> integers(static_cast<size_t>(integer_work(n)));
  const int order = static_cast<int>(n), real_size = static_cast<int>(real.size()),
            integer_size = static_cast<int>(integers.size());
  int info = 0;
  dsyevd_("V", "L", &order, a.data(), &order, values.data(), real.data(), &real_size,
          integers.data(), &integer_size, &info);
  return info == 0;
}

void eigh(Context& context, const Tensor& values, const Tensor& vectors, const ConstTensor& matrix,
          const Tensor& state, EighPrecision precision) {
  const ArenaScope scope(context.scratch);
  const int64_t n = matrix.dim(1);
  const Tensor work = take_workspaces(context, n, precision);
  const auto decompose = [&](int64_t s) {
    int32_t& flags = state.i32()[s];
    if (!(flags & kActive)) return;
    float *w = values.f32() + s * n, *v = vectors.f32() + s * n * n;
    const float* a = matrix.f32() + s * n * n;
    float* scratch = work.f32() + omp_get_thread_num() * work.dim(1);
    const bool done = (precision == EighPrecision::float32 && eigh_f32(w, v, a, n, scratch)) ||
                      eigh_f64(w, v, a, n);
    if (!done) flags = kFailed;
  };
  context.compute([&] { for_each_block(matrix, decompose); });
}

}  // namespace dashlm::cpu
