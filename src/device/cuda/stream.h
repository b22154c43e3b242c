// CUDA's streams and events as objects that own them.
#pragma once

#include <cuda_runtime.h>

#include "device/cuda/check.h"

namespace dashlm::cuda {

// An order of work on the GPU that is current when the stream is made.
class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking)); }
  ~Stream() { static_cast<void>(cudaStreamDestroy(stream_)); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

// A point in a stream's order of work: the end of all work that it has been given so far.
class Event {
 public:
  enum class Kind { order, time };  // for hold_up(), for milliseconds_since()

  Event(Kind kind, cudaStream_t stream) {
    check(cudaEventCreateWithFlags(&event_,
                                   kind == Kind::time ? cudaEventDefault : cudaEventDisableTiming));
    check(cudaEventRecord(event_, stream));
  }
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Work that `stream` is given from now on waits until this point is reached.
  void hold_up(cudaStream_t stream) const { check(cudaStreamWaitEvent(stream, event_, 0)); }
  // Waits until this point is reached.
  float milliseconds_since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventSynchronize(event_));
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_));
    return milliseconds;
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace dashlm::cuda
