// Tests of the layer that runs CUDA sources on the CPU, by kernels of our own.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "device/cuda/launch.h"
#include "ops/core/cuda/support.cuh"

namespace dashlm::cuda {
namespace {

// Device memory with the contents of a vector.
template <class T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : size_(values.size()) {
    check(cudaMalloc(&memory_, bytes()));
    check(cudaMemcpy(memory_, values.data(), bytes(), cudaMemcpyHostToDevice));
  }
  ~OnDevice() { static_cast<void>(cudaFree(memory_)); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* get() const { return static_cast<T*>(memory_); }
  std::vector<T> values() const {
    std::vector<T> result(size_);
    check(cudaMemcpy(result.data(), memory_, bytes(), cudaMemcpyDeviceToHost));
    return result;
  }

 private:
  size_t bytes() const { return size_ * sizeof(T); }
  size_t size_;
  void* memory_ = nullptr;
};

template <class T>
std::vector<T> random_values(size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  std::vector<T> result(count);
  for (T& x : result) x = static_cast<T>(normal(generator));
  return result;
}

// Sums of rows, by one block for each.
template <class T>
__global__ void sum_rows(float* out, const T* in, int64_t columns) {
  const T* row = in + blockIdx.x * columns;
  float sum = 0;
  for (int64_t i = threadIdx.x; i < columns; i += blockDim.x) sum += static_cast<float>(row[i]);
  sum = block_sum(sum);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
  // A second reduction at once: the memory that they share must be safe to use again.
  const float last = block_reduce(sum, -1e30f, [](float a, float b) { return a < b ? b : a; });
  if (threadIdx.x == blockDim.x - 1) out[gridDim.x + blockIdx.x] = last;
}

template <class T>
void check_sums() {
  constexpr int64_t kRows = 5, kColumns = 1000;
  const std::vector<T> values = random_values<T>(kRows * kColumns, 1);
  for (const unsigned threads : {32u, 96u, 256u, 1024u}) {
    const OnDevice<T> in(values);
    const OnDevice<float> out(std::vector<float>(2 * kRows));
    launch(nullptr, sum_rows<T>, {dim3(kRows), dim3(threads)}, out.get(), in.get(), kColumns);
    const std::vector<float> sums = out.values();
    for (size_t row = 0; row < kRows; ++row) {
      double expected = 0;
      for (size_t i = 0; i < kColumns; ++i) {
        expected += static_cast<double>(static_cast<float>(values[row * kColumns + i]));
      }
      EXPECT_NEAR(sums[row], expected, 1e-3);
      EXPECT_EQ(sums[kRows + row], sums[row]);
    }
  }
}

TEST(HostCuda, SumsOverBlocks) {
  check_sums<float>();
  check_sums<__nv_bfloat16>();
}

__global__ void some_return_early() {
  if (threadIdx.x < 3) return;
  __syncthreads();
}

__global__ void some_go_elsewhere() {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

__global__ void half_a_warp() {
  if (threadIdx.x < 16) __shfl_xor_sync(0xffffffffu, 1, 1);
}

__global__ void past_the_end() {
  dynamic_shared<char>()[blockDim.x + threadIdx.x] = 0;
}

using HostCudaDeathTest = testing::Test;

TEST(HostCudaDeathTest, BarriersThatNotAllThreadsReachEndTheProcess) {
  const LaunchShape shape{dim3(2), dim3(64)};
  EXPECT_DEATH(launch(nullptr, some_return_early, shape), "barrier not reached by all threads");
  EXPECT_DEATH(launch(nullptr, some_go_elsewhere, shape), "barrier not reached by all threads");
  EXPECT_DEATH(launch(nullptr, half_a_warp, shape), "operation not reached by all lanes");
  EXPECT_DEATH(launch(nullptr, some_return_early, shape), "DASHLM_HOST_CUDA_SEED");
}

TEST(HostCudaDeathTest, LimitsOfDevicesEndTheProcess) {
  EXPECT_DEATH(launch(nullptr, past_the_end, {dim3(1), dim3(32), 32}),
               "past the end|use-after-poison");  // AddressSanitizer sees it first
  EXPECT_DEATH(launch(nullptr, past_the_end, {dim3(1), dim3(1025)}), "a block of 1025");
  EXPECT_DEATH(launch(nullptr, past_the_end, {dim3(1, 65536), dim3(1)}), "a grid of");
  EXPECT_DEATH(launch(nullptr, past_the_end, {dim3(1), dim3(1), 49153}), "dynamic shared memory");
}

// What each lane gets from the next, how many lanes have odd numbers, and a vote of the block.
__global__ void partial_warps(int* next, int* odd, int* votes) {
  const int i = static_cast<int>(threadIdx.x);
  next[i] = __shfl_down_sync(0xffffffffu, i, 1);
  odd[i] = __popc(__ballot_sync(0xffffffffu, i % 2));
  const int count = __syncthreads_count(i < 7);
  const int all = __syncthreads_and(i < 40), any = __syncthreads_or(i == 40);
  votes[i] = 100 * count + 10 * all + any;
}

TEST(HostCuda, PartialWarps) {
  constexpr int kCount = 45;
  const std::vector<int> zeros(kCount);
  const OnDevice<int> next(zeros), odd(zeros), votes(zeros);
  launch(nullptr, partial_warps, {dim3(1), dim3(kCount)}, next.get(), odd.get(), votes.get());
  for (int i = 0; i < kCount; ++i) {
    const auto at = static_cast<size_t>(i);
    // The last lane of a whole warp keeps its own; what lies past the end of the block is poison.
    EXPECT_EQ(next.values()[at], i == 31 ? 31 : i == kCount - 1 ? -1 : i + 1);
    EXPECT_EQ(odd.values()[at], i < 32 ? 16 : 6);
    EXPECT_EQ(votes.values()[at], 701);
  }
}

__global__ void shuffles(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  out[i] = __shfl_sync(0xffffffffu, i, 3, 8);
  out[32 + i] = __shfl_up_sync(0xffffffffu, i, 2, 8);
  out[64 + i] = static_cast<int>(__shfl_xor_sync(0xffffffffu, static_cast<double>(i), 4));
}

TEST(HostCuda, ShufflesOfPartsOfAWarp) {
  const OnDevice<int> out(std::vector<int>(96));
  launch(nullptr, shuffles, {dim3(1), dim3(32)}, out.get());
  const std::vector<int> values = out.values();
  for (int i = 0; i < 32; ++i) {
    const auto at = static_cast<size_t>(i);
    EXPECT_EQ(values[at], i / 8 * 8 + 3);
    EXPECT_EQ(values[32 + at], i % 8 < 2 ? i : i - 2);
    EXPECT_EQ(values[64 + at], i ^ 4);
  }
}

// Counts in shared memory, then in global memory; the order in which threads came.
__global__ void count_threads(unsigned* total, int* highest, unsigned* order) {
  __shared__ unsigned count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  const unsigned place = atomicAdd(&count, 1);
  if (blockIdx.x == 0) order[place] = threadIdx.x;
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(total, count);
  atomicMax(highest, static_cast<int>(first_element()));
}

TEST(HostCuda, AtomicsAndRandomOrder) {
  const OnDevice<unsigned> total({0}), order(std::vector<unsigned>(256));
  const OnDevice<int> highest({-1});
  launch(nullptr, count_threads, {dim3(7), dim3(256)}, total.get(), highest.get(), order.get());
  EXPECT_EQ(total.values()[0], 7u * 256u);
  EXPECT_EQ(highest.values()[0], 7 * 256 - 1);
  std::vector<unsigned> threads = order.values();
  EXPECT_FALSE(std::is_sorted(threads.begin(), threads.end()));
  std::sort(threads.begin(), threads.end());
  for (unsigned i = 0; i < 256; ++i) EXPECT_EQ(threads[i], i);
}

__global__ void look_at_shared(unsigned* out) {
  out[blockIdx.x * blockDim.x + threadIdx.x] = dynamic_shared<unsigned>()[threadIdx.x];
  dynamic_shared<unsigned>()[threadIdx.x] = 0;
}

TEST(HostCuda, MemoryIsPoisoned) {
  const OnDevice<unsigned> out(std::vector<unsigned>(64));
  launch(nullptr, look_at_shared, {dim3(2), dim3(32), 128}, out.get());
  for (const unsigned x : out.values()) EXPECT_EQ(x, 0xffffffffu);
  void* memory = nullptr;
  ASSERT_EQ(cudaMalloc(&memory, 4), cudaSuccess);
  unsigned fresh = 0;
  EXPECT_EQ(cudaMemcpy(&fresh, memory, 4, cudaMemcpyDeviceToHost), cudaSuccess);
  EXPECT_EQ(fresh, 0xffffffffu);
  EXPECT_EQ(cudaFree(memory), cudaSuccess);
}

TEST(HostCuda, CopiesKeepToAllocations) {
  const OnDevice<char> there(std::vector<char>(100));
  std::vector<char> here(200);
  const auto copies = [](void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    const cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    EXPECT_EQ(cudaPeekAtLastError(), error);
    EXPECT_EQ(cudaGetLastError(), error);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
    return error == cudaSuccess;
  };
  EXPECT_TRUE(copies(here.data(), there.get(), 100, cudaMemcpyDeviceToHost));
  EXPECT_TRUE(copies(there.get() + 50, there.get(), 50, cudaMemcpyDeviceToDevice));
  EXPECT_FALSE(copies(here.data(), there.get(), 101, cudaMemcpyDeviceToHost));
  EXPECT_FALSE(copies(there.get() + 1, here.data(), 100, cudaMemcpyHostToDevice));
  EXPECT_FALSE(copies(there.get() - 1, here.data(), 2, cudaMemcpyHostToDevice));
  EXPECT_FALSE(copies(there.get(), there.get(), 2, cudaMemcpyHostToDevice));
  EXPECT_FALSE(copies(here.data(), there.get(), 2, cudaMemcpyHostToDevice));
  void* much = nullptr;
  EXPECT_EQ(cudaMalloc(&much, size_t{1} << 50), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

__global__ void write_at(char* memory, int64_t offset) {
  memory[offset] = 1;
}

TEST(HostCudaDeathTest, ErrorsThatNobodySawEndTheProcess) {
  EXPECT_DEATH(
      {
        static_cast<void>(cudaSetDevice(1));
        std::exit(0);
      },
      "never asked for");
  EXPECT_DEATH(
      {
        const OnDevice<char> memory(std::vector<char>(7));
        launch(nullptr, write_at, {dim3(1), dim3(1)}, memory.get(), 7);
      },
      "past the end of an allocation");
}

}  // namespace
}  // namespace dashlm::cuda
