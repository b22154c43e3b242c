// Eigen-decompositions through cuSOLVER's batched solver.
//
// What a block gets must not hang on how a library takes NaN, nor on garbage in blocks that are not
// active: the solver is given the identity for the latter, and zeros for what is not finite; a
// block that has such elements fails whatever comes back.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "ops/core/cuda/support.cuh"
#include "ops/stacks/backends.h"

namespace dashlm::cuda {
namespace {

// Consecutive blocks and where their results go.
struct Blocks {
  const float* matrix;  // (S, n, n)
  float* values;        // (S, n)
  float* vectors;       // (S, n, n)
  int32_t* state;       // (S)
  int32_t* again;       // (S): set where another attempt is due; null: this is the last
  int64_t count, n;

  Blocks range(int64_t begin, int64_t size) const {
    return {matrix + begin * n * n,
            values + begin * n,
            vectors + begin * n * n,
            state + begin,
            again ? again + begin : nullptr,
            size,
            n};
  }
};

// What the solver works on, for `count` blocks or more.
template <class T>
struct Work {
  T* matrices;         // (G, n, n), overwritten by the eigenvectors
  T* values;           // (G, n)
  int32_t* info;       // (G): not 0 where it did not converge
  int32_t* nonfinite;  // (G): set where the block is not finite
  int64_t group;
};

template <class T>
__global__ void load_matrices(Work<T> work, Blocks blocks) {
  const int64_t n = blocks.n, size = n * n;
  for (int64_t i = first_element(); i < work.group * size; i += element_step()) {
    const int64_t s = i / size, place = i % size;
    if (s < blocks.count && (blocks.state[s] & kActive)) {
      const float x = blocks.matrix[i];
      const bool finite = isfinite(x);
      work.matrices[i] = finite ? static_cast<T>(x) : T(0);
      if (!finite) atomicOr(work.nonfinite + s, 1);
    } else {
      work.matrices[i] = place % (n + 1) == 0 ? T(1) : T(0);
    }
  }
}

// Whether all numbers are finite as floats; for all threads of the block.
template <class T>
__device__ bool all_finite(const T* x, int64_t count) {
  bool finite = true;
  for (int64_t i = threadIdx.x; i < count; i += blockDim.x) {
    finite = finite && isfinite(static_cast<float>(x[i]));
  }
  return __syncthreads_and(finite ? 1 : 0) != 0;
}

// Hands out the results of active blocks that succeeded, and marks those that did not. LAPACK's
// columns are our rows. One thread block per matrix.
template <class T>
__global__ void store_results(Work<T> work, Blocks blocks) {
  const int64_t n = blocks.n, size = n * n, s = blockIdx.x;
  if (!(blocks.state[s] & kActive)) return;
  const T *values = work.values + s * n, *vectors = work.matrices + s * size;
  const bool finite = all_finite(values, n) && all_finite(vectors, size);
  // From here on the state may change, which all threads have read.
  if (finite && work.info[s] == 0 && !work.nonfinite[s]) {
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      blocks.values[s * n + i] = static_cast<float>(values[i]);
    }
    for (int64_t i = threadIdx.x; i < size; i += blockDim.x) {
      blocks.vectors[s * size + i] = static_cast<float>(vectors[i]);
    }
  } else if (threadIdx.x == 0) {
    if (blocks.again && !work.nonfinite[s]) {
      blocks.again[s] = 1;
    } else {
      blocks.state[s] = kFailed;
    }
  }
}

class SolverParameters {
 public:
  SolverParameters() { check(cusolverDnCreateParams(&params_)); }
  ~SolverParameters() { static_cast<void>(cusolverDnDestroyParams(params_)); }
  SolverParameters(const SolverParameters&) = delete;
  SolverParameters& operator=(const SolverParameters&) = delete;
  cusolverDnParams_t get() const { return params_; }

 private:
  cusolverDnParams_t params_ = nullptr;
};

// cuSOLVER's solver for groups of blocks, all of the same size: to choose its method by the number
// of matrices it is free.
template <class T>
class Solver {
 public:
  // Takes its memory from the context's scratch; T is float or double.
  Solver(Context& context, int64_t n, int64_t group) : device_(device_of(context)), n_(n) {
    // No data are needed to know sizes, but pointers that are not null may be.
    const void* any = device_.blas_workspace();
    size_t bytes = 0, host_bytes = 0;
    check(cusolverDnXsyevBatched_bufferSize(device_.solver(), parameters_.get(), kVectors, kLower,
                                            n, kType, any, n, kType, any, kType, &bytes,
                                            &host_bytes, group));
    constexpr DType kDType = sizeof(T) == sizeof(double) ? DType::f64 : DType::f32;
    Arena& scratch = context.scratch;
    matrices_ = scratch.take("eigh matrices", {group, n, n}, kDType);
    values_ = scratch.take("eigh values", {group, n}, kDType);
    info_ = scratch.take("eigh info", {2, group}, DType::i32);
    buffer_ = scratch.take("eigh buffer", {static_cast<int64_t>(bytes)}, DType::u8);
    context.compute([&] { host_buffer_.resize(host_bytes); });
  }
  // cuSOLVER may be using the memory that now goes.
  ~Solver() {
    if (!host_buffer_.empty()) static_cast<void>(cudaStreamSynchronize(device_.stream()));
  }
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  // Solves all blocks, group by group.
  void run(const Blocks& all) {
    const int64_t group = info_.dim(1);
    int32_t* info = info_.i32();
    const Work<T> work{static_cast<T*>(matrices_.data), static_cast<T*>(values_.data), info,
                       info + group, group};
    const cudaStream_t stream = device_.stream();
    for (int64_t begin = 0; begin < all.count; begin += group) {
      const Blocks blocks = all.range(begin, std::min(group, all.count - begin));
      device_.clear(info_.data, info_.bytes());
      launch(stream, load_matrices<T>, for_elements(matrices_.elements()), work, blocks);
      check(cusolverDnXsyevBatched(device_.solver(), parameters_.get(), kVectors, kLower, n_, kType,
                                   work.matrices, n_, kType, work.values, kType, buffer_.data,
                                   static_cast<size_t>(buffer_.bytes()), host_buffer_.data(),
                                   host_buffer_.size(), work.info, group));
      launch(stream, store_results<T>,
             LaunchShape{dim3(static_cast<unsigned>(blocks.count)), dim3(kThreads)}, work, blocks);
    }
  }

 private:
  static constexpr cusolverEigMode_t kVectors = CUSOLVER_EIG_MODE_VECTOR;
  static constexpr cublasFillMode_t kLower = CUBLAS_FILL_MODE_LOWER;
  static constexpr cudaDataType kType = sizeof(T) == sizeof(double) ? CUDA_R_64F : CUDA_R_32F;

  CudaDevice& device_;
  int64_t n_;
  SolverParameters parameters_;
  Tensor matrices_, values_, info_, buffer_;
  std::vector<std::byte> host_buffer_;
};

// Blocks in a group: as many as fit into 256 MiB of floats (cuSOLVER can do eight times that), and
// then as equal as can be, for the last group is filled up with identities.
int64_t group_size(int64_t blocks, int64_t n) {
  const int64_t most = std::max<int64_t>(1, (int64_t{1} << 26) / (n * n));
  return divide_up(blocks, divide_up(blocks, most));
}

}  // namespace

// In float32 this waits for the device: only the host can start another solver for a few blocks.
void eigh(Context& context, const Tensor& values, const Tensor& vectors, const ConstTensor& matrix,
          const Tensor& state, EighPrecision precision) {
  if (matrix.elements() == 0) return;
  const int64_t count = matrix.dim(0), n = matrix.dim(1), group = group_size(count, n);
  const ArenaScope scope(context.scratch);
  // Tensors have no data while planning, but pointers to float nevertheless.
  Blocks blocks{matrix.f32(), values.f32(), vectors.f32(), state.i32(), nullptr, count, n};
  if (precision == EighPrecision::float64) {
    Solver<double> solver(context, n, group);
    return context.compute([&] { solver.run(blocks); });
  }
  const Tensor again = context.scratch.take("blocks to do again", {count}, DType::i32);
  Solver<float> solver(context, n, group);
  Solver<double> careful(context, n, 1);
  context.compute([&] {
    context.device.clear(again.data, again.bytes());
    blocks.again = again.i32();
    solver.run(blocks);
    std::vector<int32_t> flags(static_cast<size_t>(count));
    context.device.download(flags.data(), again.data, again.bytes());
    blocks.again = nullptr;
    for (int64_t s = 0; s < count; ++s) {
      if (flags[static_cast<size_t>(s)]) careful.run(blocks.range(s, 1));
    }
  });
}

}  // namespace dashlm::cuda
