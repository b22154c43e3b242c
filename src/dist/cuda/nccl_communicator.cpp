#include "dist/cuda/nccl_communicator.h"

#include <algorithm>
#include <chrono>
#include <exception>
#include <numeric>
#include <thread>

#include "device/cuda/check.h"
#include "dist/cuda/sum_of_segments.h"

namespace dashlm::cuda {
namespace {

// The places of the segments in a tensor: rank r has counts[r] elements, one after the other.
template <class Part>
std::vector<Part> parts_of(const Tensor& packed, std::span<const int64_t> counts) {
  std::vector<Part> parts;
  auto* begin = static_cast<char*>(packed.data);
  for (const int64_t count : counts) {
    parts.push_back({begin, count * size_of(packed.dtype)});
    begin += parts.back().bytes;
  }
  return parts;
}

}  // namespace

class NcclCommunicator::Task final : public Work::State {
 public:
  explicit Task(NcclCommunicator& communicator)
      : communicator_(communicator),
        compute_(communicator.device_.stream()),
        done_(Event::Kind::order, communicator.stream_) {}
  void wait() override {
    communicator_.check_in_flight();
    done_.hold_up(compute_);
  }

 private:
  NcclCommunicator& communicator_;
  cudaStream_t compute_;
  Event done_;
};

NcclCommunicator::NcclCommunicator(Communicator& host, CudaDevice& device)
    : host_(host), device_(device), exceptions_(std::uncaught_exceptions()) {
  ncclUniqueId id = {};
  if (rank() == 0) check_nccl("ncclGetUniqueId", ncclGetUniqueId(&id));
  const std::string bytes =
      host.exchange(rank() == 0 ? std::string(id.internal, sizeof id.internal) : "")[0];
  std::copy_n(bytes.data(), std::min(bytes.size(), sizeof id.internal), id.internal);
  if (const ncclResult_t result = ncclCommInitRank(&nccl_, size(), id, rank());
      result != ncclSuccess) {
    fail_runtime(
        "NCCL: ncclCommInitRank failed: {}: {}; each rank needs a GPU of its own, and this node "
        "has {} ranks and {} GPUs that this one may use (NCCL_DEBUG=INFO says more)",
        ncclGetErrorString(result), ncclGetLastError(nullptr), local_size(), device_count());
  }
}

// A failure here follows an earlier one, which was reported.
NcclCommunicator::~NcclCommunicator() {
  if (nccl_ == nullptr) return;
  const bool in_order = std::uncaught_exceptions() == exceptions_;
  if (in_order) static_cast<void>(cudaStreamSynchronize(stream_));
  static_cast<void>(in_order ? ncclCommDestroy(nccl_) : ncclCommAbort(nccl_));
}

std::string NcclCommunicator::description() const {
  int version = 0;
  static_cast<void>(ncclGetVersion(&version));
  return fmt::format("{}; tensors by NCCL {}.{}.{}", host_.description(), version / 10000,
                     version / 100 % 100, version % 100);
}

void NcclCommunicator::check_nccl(const char* call, ncclResult_t result) {
  if (result == ncclSuccess) return;
  failure_ =
      fmt::format("NCCL: {} failed: {}: {} (NCCL_DEBUG=INFO says more)", call,
                  ncclGetErrorString(result), nccl_ != nullptr ? ncclGetLastError(nccl_) : "");
  // The other ranks cannot end in order without this rank, so nothing is lost by an abort.
  if (nccl_ != nullptr) static_cast<void>(ncclCommAbort(nccl_));
  nccl_ = nullptr;
  // The rank where the failure began knows more. It gets the time to report it and end the job.
  if (result == ncclRemoteError) std::this_thread::sleep_for(std::chrono::seconds(3));
  fail_runtime("{}", failure_);
}

void NcclCommunicator::check_in_flight() {
  if (nccl_ == nullptr) fail_runtime("after an earlier error: {}", failure_);
  ncclResult_t result = ncclSuccess;
  check_nccl("ncclCommGetAsyncError", ncclCommGetAsyncError(nccl_, &result));
  check_nccl("a message on its way", result);
}

void NcclCommunicator::begin_work() {
  check_in_flight();
  const Event so_far(Event::Kind::order, device_.stream());
  so_far.hold_up(stream_);
}

Work NcclCommunicator::end_work() {
  return Work(std::make_shared<Task>(*this));
}

// The group is closed whatever happens, since an open group would hold back the abort.
void NcclCommunicator::swap_parts(const std::vector<Part>& outgoing,
                                  const std::vector<Part>& incoming) {
  check_nccl("ncclGroupStart", ncclGroupStart());
  const char* failed = "";
  ncclResult_t failure = ncclSuccess;
  const auto note = [&](const char* call, ncclResult_t result) {
    if (result == ncclSuccess || failure != ncclSuccess) return;
    failed = call;
    failure = result;
  };
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) continue;
    const auto [to, to_bytes] = outgoing[static_cast<size_t>(other)];
    const auto [from, from_bytes] = incoming[static_cast<size_t>(other)];
    if (to_bytes > 0) {
      note("ncclSend",
           ncclSend(to, static_cast<size_t>(to_bytes), ncclUint8, other, nccl_, stream_));
    }
    if (from_bytes > 0) {
      note("ncclRecv",
           ncclRecv(from, static_cast<size_t>(from_bytes), ncclUint8, other, nccl_, stream_));
    }
  }
  note("ncclGroupEnd", ncclGroupEnd());
  check_nccl(failed, failure);
}

Work NcclCommunicator::reduce_scatter(const Tensor& packed, const Tensor& sum,
                                      std::span<const int64_t> counts, const Tensor& scratch) {
  const auto own_index = static_cast<size_t>(rank());
  const auto [own, total] = check_reduce_scatter(packed, sum, counts, scratch);
  const std::vector<Part> outgoing = parts_of<Part>(packed, counts);
  const std::vector<int64_t> alike(counts.size(), own);
  begin_work();
  swap_parts(outgoing, parts_of<Part>(scratch, alike));
  sum_of_segments(stream_, sum.f32(),
                  {.received = scratch.f32(),
                   .own = reinterpret_cast<const float*>(outgoing[own_index].data),
                   .own_rank = rank(),
                   .ranks = size(),
                   .count = own});
  bytes_sent_ += (total - own) * size_of(packed.dtype);
  return end_work();
}

Work NcclCommunicator::all_gather(const Tensor& segment, const Tensor& packed,
                                  std::span<const int64_t> counts) {
  const auto own_index = static_cast<size_t>(rank());
  const int64_t own = check_all_gather(segment, packed, counts).own;
  const std::vector<Part> incoming = parts_of<Part>(packed, counts);
  const Part mine{static_cast<char*>(segment.data), own * size_of(segment.dtype)};
  begin_work();
  swap_parts(std::vector<Part>(counts.size(), mine), incoming);
  if (own > 0) {
    check(cudaMemcpyAsync(incoming[own_index].data, mine.data, static_cast<size_t>(mine.bytes),
                          cudaMemcpyDeviceToDevice, stream_));
  }
  bytes_sent_ += mine.bytes * (size() - 1);
  return end_work();
}

std::vector<std::string> NcclCommunicator::exchange(const std::string& bytes) {
  const int64_t before = host_.bytes_sent();
  std::vector<std::string> all = host_.exchange(bytes);
  bytes_sent_ += host_.bytes_sent() - before;
  return all;
}

}  // namespace dashlm::cuda
