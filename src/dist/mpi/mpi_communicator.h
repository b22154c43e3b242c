// Communicator over MPI, for devices whose memory is host memory.
#pragma once

#include <future>

#include "dist/communicator.h"
#include "dist/mpi/mpi_thread.h"

namespace dashlm {

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator();

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }
  std::string description() const override;
  std::string stopped_ranks() const override { return thread_.peers().stopped(); }

  // Exchanges the segments all-to-all, then sums them in the order of the ranks. Each rank sends
  // the segments of others once, and the result does not depend on an algorithm that MPI chooses.
  Work reduce_scatter(const Tensor& packed, const Tensor& sum, std::span<const int64_t> counts,
                      const Tensor& scratch) override;
  Work all_gather(const Tensor& segment, const Tensor& packed,
                  std::span<const int64_t> counts) override;
  std::vector<std::string> exchange(const std::string& bytes) override;

  // Name and version of the MPI library.
  static std::string library();

 private:
  class Task;  // of thread_, as Work

  void abort_others(ExitCode exit_code) override { thread_.abort(exit_code); }
  Work submit(MpiThread::Task task);
  void look_around();
  // For tasks: gathers the bytes of all ranks, whose sizes may differ.
  void gather_bytes(const std::string& mine, std::string& all, std::vector<int>& sizes);
  void count_sent(int64_t bytes) { bytes_sent_ += bytes; }

  MpiThread thread_;
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
};

}  // namespace dashlm
