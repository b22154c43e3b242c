// Communicator over NCCL, for ranks whose device is a GPU of their own.
//
// Tensors travel on a stream of the communicator, which meets the device's stream by events only:
//
//   a call      its work starts after all earlier work of the device's stream
//   wait()      later work of the device's stream starts after the call's work
//
// So the host waits for neither. After wait() the tensors belong to the device's stream again. The
// host must synchronize() the device before it looks at them.
//
// Small messages go through another communicator of the same ranks, independently of the tensors.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include "device/cuda/cuda_device.h"
#include "dist/communicator.h"

namespace dashlm::cuda {

class NcclCommunicator final : public Communicator {
 public:
  // Every rank must call it. Both arguments must outlive it. Throws a runtime_failure Error where
  // NCCL fails, as it does for ranks that share a GPU.
  NcclCommunicator(Communicator& host, CudaDevice& device);
  // Waits for works on their way. After an exception it gives them up.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  int local_rank() const override { return host_.local_rank(); }
  int local_size() const override { return host_.local_size(); }
  std::string description() const override;
  std::string stopped_ranks() const override { return host_.stopped_ranks(); }

  // Each rank sends every segment to its owner. The owner adds up the pieces in the order of the
  // ranks. The bits are therefore those of the MPI form, whatever NCCL would choose for a
  // reduction.
  Work reduce_scatter(const Tensor& packed, const Tensor& sum, std::span<const int64_t> counts,
                      const Tensor& scratch) override;
  // Sends straight from the owner to all others. As many bytes leave a rank as in a ring, without a
  // ring's latency, which grows with the number of ranks. NCCL's own all-gather wants equal counts.
  Work all_gather(const Tensor& segment, const Tensor& packed,
                  std::span<const int64_t> counts) override;
  std::vector<std::string> exchange(const std::string& bytes) override;

 private:
  class Task;  // an event of stream_, as Work

  // The bytes of a rank.
  struct Part {
    char* data = nullptr;
    int64_t bytes = 0;
  };

  void abort_others(ExitCode exit_code) override { host_.abort(exit_code); }
  // Before a work: throws if NCCL has failed, and makes stream_ wait for the device's stream.
  void begin_work();
  // After a work: returns a Work that waits for all work given to stream_.
  Work end_work();
  // Sends outgoing[r] to each other rank r, and receives incoming[r] from it, all at once.
  void swap_parts(const std::vector<Part>& outgoing, const std::vector<Part>& incoming);
  // If the call failed, ends NCCL's work and throws an error that names the call.
  void check_nccl(const char* call, ncclResult_t result);
  // Throws if an earlier work has failed in the meantime.
  void check_in_flight();

  Communicator& host_;
  CudaDevice& device_;
  const int exceptions_;  // on their way when this was made
  const Stream stream_;
  ncclComm_t nccl_ = nullptr;  // null once it was aborted
  std::string failure_;        // why
};

}  // namespace dashlm::cuda
