// Communicator over NCCL, for ranks whose device is a GPU of their own.
//
// Tensors travel on a stream of the communicator, which meets the device's stream by events only:
//
//   a call      its work starts after all that the device's stream has been given so far
//   wait()      what the device's stream is given from now on starts after the work
//
// so the host waits for neither. After wait() the tensors belong to work on the device's stream
// again; the host must synchronize() the device before it looks at them.
//
// Small things go through another communicator of the same ranks, independently of the tensors.
#pragma once

#include <cuda_runtime.h>
#include <nccl.h>

#include "device/cuda/cuda_device.h"
#include "dist/communicator.h"

namespace dashlm::cuda {

class NcclCommunicator final : public Communicator {
 public:
  // Every rank must get here; both must outlive it. Throws a runtime_failure Error where NCCL
  // fails, as it does for ranks that share a GPU.
  NcclCommunicator(Communicator& host, CudaDevice& device);
  // Waits for works on their way; after an exception, gives them up.
  ~NcclCommunicator() override;
  NcclCommunicator(const NcclCommunicator&) = delete;
  NcclCommunicator& operator=(const NcclCommunicator&) = delete;

  int rank() const override { return host_.rank(); }
  int size() const override { return host_.size(); }
  int local_rank() const override { return host_.local_rank(); }
  int local_size() const override { return host_.local_size(); }
  std::string description() const override;
  std::string stopped_ranks() const override { return host_.stopped_ranks(); }

  // Each rank sends every segment to its owner, which adds up what came in the order of the ranks:
  // the bits are those of the MPI form, whatever NCCL would choose for a reduction.
  Work reduce_scatter(const Tensor& packed, const Tensor& sum, std::span<const int64_t> counts,
                      const Tensor& scratch) override;
  // Straight from owner to all others: as many bytes leave a rank as in a ring, without a ring's
  // latency, which grows with the number of ranks. NCCL's own all-gather wants equal counts.
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
  // Before a work: whether NCCL is in order; stream_ waits for the device's.
  void begin_work();
  // After one: what waits for all that stream_ has been given.
  Work end_work();
  // Sends outgoing[r] to each other rank r, and receives incoming[r] from it, all at once.
  void swap_parts(const std::vector<Part>& outgoing, const std::vector<Part>& incoming);
  // Ends NCCL's work and throws, naming the call, unless all is well.
  void check_nccl(const char* call, ncclResult_t result);
  // Throws what went wrong in the meantime.
  void check_in_flight();

  Communicator& host_;
  CudaDevice& device_;
  const int exceptions_;  // on their way when this was made
  const Stream stream_;
  ncclComm_t nccl_ = nullptr;  // null once it was aborted
  std::string failure_;        // why
};

}  // namespace dashlm::cuda
