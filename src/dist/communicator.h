// Communication between the ranks of a run. A rank is one process with one device.
//
// There are three forms: LoneCommunicator (one process, below), MpiCommunicator (dist/mpi), and
// NcclCommunicator for ranks on GPUs (dist/cuda). dist/launch.h picks one.
//
// Every rank makes the same calls in the same order. A call starts to move data once the earlier
// calls are through. Sums are taken in the order of the ranks, so that they are the same on every
// run.
//
// Calls on device memory return a Work at once. Their tensors must not be touched before its wait()
// has returned. On a GPU the work starts after all earlier work of the device's stream. wait()
// makes later work of that stream wait for it. The host must synchronize() before it looks at the
// tensors.
#pragma once

#include <atomic>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "device/device.h"
#include "dist/ownership.h"
#include "tensor/tensor.h"

namespace dashlm {

// A transfer on its way. Copies stand for the same transfer.
class Work {
 public:
  class State {
   public:
    virtual ~State() = default;
    // Returns once the transfer is done. Throws if it failed.
    virtual void wait() = 0;
  };

  Work() = default;  // done already
  explicit Work(std::shared_ptr<State> state) : state_(std::move(state)) {}
  void wait() {
    if (state_) state_->wait();
    state_.reset();
  }

 private:
  std::shared_ptr<State> state_;
};

class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  RankPlace place() const { return {rank(), size()}; }
  // The place among the ranks of this node, and their number.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  LocalPlace local_place() const { return {local_rank(), local_size()}; }
  virtual std::string description() const = 0;  // for people
  // Names the ranks of this node that are stopped, as by SIGSTOP: "rank 3 (process 1234) is
  // stopped". "" if there are none, or if they cannot be seen. May be called from any thread.
  virtual std::string stopped_ranks() const { return ""; }

  // `packed` holds one segment for each rank, one after the other; the segment for rank r has
  // counts[r] elements. `sum` (counts[rank]) becomes the sum over all ranks of the segments for
  // this rank. `scratch` has room for size() · counts[rank] elements. Works may share it, since
  // they run one after the other. All tensors are f32.
  virtual Work reduce_scatter(const Tensor& packed, const Tensor& sum,
                              std::span<const int64_t> counts, const Tensor& scratch) = 0;
  // `packed` becomes the segments of all ranks, one after the other; the segment of rank r has
  // counts[r] elements. Both tensors are f32, or both are bf16.
  virtual Work all_gather(const Tensor& segment, const Tensor& packed,
                          std::span<const int64_t> counts) = 0;
  // Returns the bytes of each rank, by rank. Waits for all ranks, so it is for small messages.
  virtual std::vector<std::string> exchange(const std::string& bytes) = 0;

  // Ends the processes of all ranks. This process ends with `exit_code`.
  [[noreturn]] void abort(ExitCode exit_code) {
    abort_others(exit_code);
    std::_Exit(static_cast<int>(exit_code));
  }

  // The sums over all ranks, element by element.
  std::vector<double> sum(std::span<const double> values);
  void barrier() { exchange(""); }

  // The bytes that this rank has sent to others so far.
  int64_t bytes_sent() const { return bytes_sent_; }

 protected:
  virtual void abort_others(ExitCode exit_code) = 0;  // need not return

  // Element counts of a call: the elements of this rank, and the elements of all ranks. The checks
  // below throw unless the tensors of the call fit `counts`.
  struct Counts {
    int64_t own = 0, total = 0;
  };
  Counts check_reduce_scatter(const Tensor& packed, const Tensor& sum,
                              std::span<const int64_t> counts, const Tensor& scratch) const;
  Counts check_all_gather(const Tensor& segment, const Tensor& packed,
                          std::span<const int64_t> counts) const;

  std::atomic<int64_t> bytes_sent_ = 0;
};

// The form for one process. In a plan, where nothing is computed, it may stand for one rank of
// many. Any call to the other ranks is then an error.
class LoneCommunicator final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  std::string description() const override { return "one process"; }
  Work reduce_scatter(const Tensor& packed, const Tensor& sum, std::span<const int64_t> counts,
                      const Tensor& scratch) override;
  Work all_gather(const Tensor& segment, const Tensor& packed,
                  std::span<const int64_t> counts) override;
  std::vector<std::string> exchange(const std::string& bytes) override;

 private:
  void abort_others(ExitCode) override {}
};

}  // namespace dashlm
