// How the ranks of a run talk to each other. A rank is one process with one device.
//
// Forms: LoneCommunicator (one process; below), MpiCommunicator (dist/mpi), NcclCommunicator for
// ranks on GPUs (dist/cuda). launch.h picks one.
//
// Every rank makes the same calls in the same order; what a call moves starts once those before it
// are through. Calls on device memory return a Work at once: neither what goes in nor what comes
// out may be touched before its wait() has returned; on a GPU, the work comes after all that the
// device's stream has been given before the call, wait() orders what it is given later, and the
// host must synchronize() before it looks. Sums are taken in the order of the ranks, so that they
// are the same on every run.
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

// Something on its way. Copies stand for the same thing.
class Work {
 public:
  class State {
   public:
    virtual ~State() = default;
    // Returns once it is done, or throws what went wrong.
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
  // Among the ranks of this node.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  LocalPlace local_place() const { return {local_rank(), local_size()}; }
  virtual std::string description() const = 0;  // for people
  // "rank 3 (process 1234) is stopped", as by SIGSTOP, of ranks of this node; "" where none is, or
  // it cannot be seen. From any thread.
  virtual std::string stopped_ranks() const { return ""; }

  // `packed` holds a segment for each rank one after the other, counts[r] elements for rank r.
  // `sum` (counts[rank]) becomes the sum of everybody's segment for this rank. `scratch` has room
  // for size() · counts[rank] elements; works may share it, since they run one after the other. All
  // f32.
  virtual Work reduce_scatter(const Tensor& packed, const Tensor& sum,
                              std::span<const int64_t> counts, const Tensor& scratch) = 0;
  // `packed` becomes everybody's `segment` one after the other, counts[r] elements of rank r. Both
  // f32 or both bf16.
  virtual Work all_gather(const Tensor& segment, const Tensor& packed,
                          std::span<const int64_t> counts) = 0;
  // The bytes that each rank gave, by rank. For small things: it waits for everybody.
  virtual std::vector<std::string> exchange(const std::string& bytes) = 0;

  // Ends the processes of all ranks, this one with `exit_code`.
  [[noreturn]] void abort(ExitCode exit_code) {
    abort_others(exit_code);
    std::_Exit(static_cast<int>(exit_code));
  }

  // Sums over all ranks, element by element.
  std::vector<double> sum(std::span<const double> values);
  void barrier() { exchange(""); }

  // Sent to other ranks by this one so far.
  int64_t bytes_sent() const { return bytes_sent_; }

 protected:
  virtual void abort_others(ExitCode exit_code) = 0;  // need not return

  // How many elements are this rank's, and how many there are, once the tensors of a call are such
  // as it says; else they throw.
  struct Counts {
    int64_t own = 0, total = 0;
  };
  Counts check_reduce_scatter(const Tensor& packed, const Tensor& sum,
                              std::span<const int64_t> counts, const Tensor& scratch) const;
  Counts check_all_gather(const Tensor& segment, const Tensor& packed,
                          std::span<const int64_t> counts) const;

  std::atomic<int64_t> bytes_sent_ = 0;
};

// One process, which has nobody to talk to.
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
