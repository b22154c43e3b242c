// The form for GPUs against the one over MPI, whose results it must have to the last bit.
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <memory>
#include <numeric>

#include <gtest/gtest.h>

#include "base/random.h"
#include "dist/cuda/nccl_communicator.h"
#include "tensor/tensor.h"
#include "unit/dist/ranks/world.h"

namespace dashlm::testing {
namespace {

using Counts = std::vector<int64_t>;
using Values = std::vector<float>;

size_t own_index() {
  return static_cast<size_t>(world().rank());
}

int64_t total(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), int64_t{0});
}

// Elements for each rank: uneven, and none for some.
Counts uneven_counts(int64_t unit) {
  Counts counts;
  for (int rank = 0; rank < world().size(); ++rank) counts.push_back(unit * ((rank + 1) % 3));
  return counts;
}

// Of this rank; over so many magnitudes that sums depend on the order they are taken in.
Values values(int64_t count, int64_t piece) {
  const CounterRandom random(static_cast<uint64_t>(world().rank()), Purpose::test,
                             static_cast<uint64_t>(piece));
  Values result;
  for (int64_t i = 0; i < count; ++i) {
    const double x = std::exp(10 * random.uniform(static_cast<uint64_t>(i)));
    result.push_back(static_cast<float>(i % 2 ? x : -x));
  }
  return result;
}

Tensor on_host(Values& values) {
  return {values.data(), DType::f32, {std::ssize(values)}, "on the host"};
}

std::vector<uint32_t> bits_of(const Values& values) {
  std::vector<uint32_t> bits;
  for (const float value : values) bits.push_back(std::bit_cast<uint32_t>(value));
  return bits;
}

// A GPU, with tensors on it that live as long as it does.
class Gpu {
 public:
  ~Gpu() {
    for (void* memory : taken_) device_->release(memory);
  }
  cuda::CudaDevice& device() { return static_cast<cuda::CudaDevice&>(*device_); }

  Tensor take(int64_t elements) {
    taken_.push_back(device_->allocate(elements * size_of(DType::f32)));
    return {taken_.back(), DType::f32, {elements}, "on the GPU"};
  }
  Tensor take(const Values& values) {
    const Tensor tensor = take(std::ssize(values));
    device_->upload(tensor.data, values.data(), tensor.bytes());
    return tensor;
  }
  Values read(const Tensor& tensor) {
    Values values(static_cast<size_t>(tensor.elements()));
    device_->download(values.data(), tensor.data, tensor.bytes());
    return values;
  }

 private:
  std::unique_ptr<Device> device_ = open_device("cuda", 1, world().local_place());
  std::vector<void*> taken_;
};

TEST(NcclCommunicator, ReduceScatterHasTheBitsOfTheMpiForm) {
  Gpu gpu;
  cuda::NcclCommunicator nccl(world(), gpu.device());
  for (const int64_t unit : {0, 1, 7, 5000, 300000}) {
    const Counts counts = uneven_counts(unit);
    const int64_t own = counts[own_index()];
    Values packed = values(total(counts), unit), expected(static_cast<size_t>(own)),
           scratch(static_cast<size_t>(own * world().size()));
    const int64_t mpi_sent = world().bytes_sent(), nccl_sent = nccl.bytes_sent();
    world().reduce_scatter(on_host(packed), on_host(expected), counts, on_host(scratch)).wait();

    const Tensor sum = gpu.take(own);
    nccl.reduce_scatter(gpu.take(packed), sum, counts, gpu.take(own * world().size())).wait();
    EXPECT_EQ(bits_of(gpu.read(sum)), bits_of(expected)) << unit;
    EXPECT_EQ(nccl.bytes_sent() - nccl_sent, world().bytes_sent() - mpi_sent);
  }
}

TEST(NcclCommunicator, AllGatherHasTheBitsOfTheMpiForm) {
  Gpu gpu;
  cuda::NcclCommunicator nccl(world(), gpu.device());
  for (const int64_t unit : {0, 1, 7, 5000, 300000}) {
    const Counts counts = uneven_counts(unit);
    Values segment = values(counts[own_index()], unit),
           expected(static_cast<size_t>(total(counts)));
    const int64_t mpi_sent = world().bytes_sent(), nccl_sent = nccl.bytes_sent();
    world().all_gather(on_host(segment), on_host(expected), counts).wait();

    const Tensor packed = gpu.take(total(counts));
    nccl.all_gather(gpu.take(segment), packed, counts).wait();
    EXPECT_EQ(bits_of(gpu.read(packed)), bits_of(expected)) << unit;
    EXPECT_EQ(nccl.bytes_sent() - nccl_sent, world().bytes_sent() - mpi_sent);
  }
}

// Many on their way at once, which share the scratch memory, waited for in any order; what one
// gives is what the next one takes.
TEST(NcclCommunicator, WorksRunInOrder) {
  constexpr int64_t kWorks = 20, kCount = 301;
  Gpu gpu;
  cuda::NcclCommunicator nccl(world(), gpu.device());
  const Counts counts(static_cast<size_t>(world().size()), kCount);
  const Tensor scratch = gpu.take(world().size() * kCount);
  std::vector<Tensor> sums;
  std::vector<Work> works;
  Tensor packed = gpu.take(Values(static_cast<size_t>(total(counts)), 1.0f));
  for (int64_t k = 0; k < kWorks; ++k) {
    sums.push_back(gpu.take(kCount));
    works.push_back(nccl.reduce_scatter(packed, sums.back(), counts, scratch));
    packed = gpu.take(total(counts));
    works.push_back(nccl.all_gather(sums.back(), packed, counts));
  }
  EXPECT_EQ(nccl.sum(std::vector{1.0})[0], world().size());
  std::reverse(works.begin(), works.end());
  for (Work& work : works) work.wait();
  float expected = 1.0f;
  for (const Tensor& sum : sums) {
    expected *= static_cast<float>(world().size());
    EXPECT_EQ(gpu.read(sum), Values(kCount, expected));
  }
}

TEST(NcclCommunicator, ExchangesThroughTheOther) {
  Gpu gpu;
  cuda::NcclCommunicator nccl(world(), gpu.device());
  EXPECT_EQ(nccl.rank(), world().rank());
  EXPECT_EQ(nccl.size(), world().size());
  EXPECT_EQ(nccl.local_rank(), world().local_rank());
  EXPECT_NE(nccl.description().find("NCCL"), std::string::npos);
  const std::vector<std::string> ranks = nccl.exchange(std::to_string(nccl.rank() % 10));
  for (size_t i = 0; i < ranks.size(); ++i) EXPECT_EQ(ranks[i], std::to_string(i % 10));
  nccl.barrier();
  EXPECT_EQ(nccl.bytes_sent(), world().size() - 1);
}

TEST(NcclCommunicator, ChecksWhatItIsGiven) {
  Gpu gpu;
  cuda::NcclCommunicator nccl(world(), gpu.device());
  const Counts counts(static_cast<size_t>(world().size()), 10);
  const Tensor small = gpu.take(9), large = gpu.take(total(counts));
  EXPECT_THROW(nccl.reduce_scatter(large, small, counts, large), Error);
  EXPECT_THROW(nccl.all_gather(small, large, counts), Error);
  const Tensor integers{large.data, DType::i32, large.shape, "integers"};
  EXPECT_THROW(nccl.all_gather(integers, large, counts), Error);
  nccl.all_gather(gpu.take(10), large, counts).wait();  // nobody has sent anything before
}

std::string message_of(const std::function<void()>& act) {
  try {
    act();
    return "";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::runtime_failure);
    return e.what();
  }
}

// What NCCL refuses is named, and is the end of it.
TEST(NcclCommunicator, NamesTheCallThatFails) {
  Gpu gpu;
  cuda::NcclCommunicator nccl(world(), gpu.device());
  const Counts counts(static_cast<size_t>(world().size()), 10);
  Values elsewhere(10);
  const Tensor packed = gpu.take(total(counts));
  const std::string first =
      message_of([&] { nccl.all_gather(on_host(elsewhere), packed, counts); });
  EXPECT_NE(first.find("ncclSend failed: invalid argument"), std::string::npos) << first;
  EXPECT_EQ(nccl.bytes_sent(), 0);
  const std::string second =
      message_of([&] { nccl.all_gather(gpu.take(10), packed, counts).wait(); });
  EXPECT_NE(second.find("earlier error"), std::string::npos) << second;
}

}  // namespace
}  // namespace dashlm::testing
