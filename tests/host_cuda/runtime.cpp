// The functions of the CUDA runtime that dashlm calls. Work is done before they return. Copies and
// fills must keep to allocations; each allocation lies between two zones that kernels must not
// write to, which is looked after when it is released and at the end of the process.
#include <cuda_runtime.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <set>

#include "host_cuda/memory.h"
#include "host_cuda/report.h"

struct CUstream_st {};

struct CUevent_st {
  bool timed = true, recorded = false;
  std::chrono::steady_clock::time_point time;
};

namespace dashlm::host_cuda {
namespace {

constexpr size_t kZone = 256;  // on either side of an allocation; also its alignment
constexpr unsigned char kZoneByte = 0xa5, kPoison = 0xff;

struct State {
  std::mutex mutex;
  std::map<uintptr_t, size_t> allocations;  // first byte and size
  size_t allocated = 0;
  std::set<cudaStream_t> streams;
  std::set<cudaEvent_t> events;
  cudaError_t last = cudaSuccess;
};

void check_at_exit();

State& state() {
  static State& it = [&]() -> State& {
    std::atexit(check_at_exit);
    return *new State;  // outlives all that could call us
  }();
  return it;
}

// Remembers an error until cudaGetLastError asks for it.
cudaError_t result(cudaError_t error) {
  if (error != cudaSuccess) {
    const std::lock_guard lock(state().mutex);
    state().last = error;
  }
  return error;
}

uintptr_t address_of(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory);
}

// Needs the mutex.
void check_zones(uintptr_t first, size_t size) {
  const auto* memory = reinterpret_cast<const unsigned char*>(first);
  for (size_t i = 1; i <= kZone; ++i) {
    if (*(memory - i) != kZoneByte) fail("write %zu bytes before an allocation of %zu", i, size);
    if (memory[size + i - 1] != kZoneByte) {
      fail("write %zu bytes past the end of an allocation of %zu bytes", i - 1, size);
    }
  }
}

void check_at_exit() {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  for (const auto& [first, size] : s.allocations) check_zones(first, size);
  if (s.last != cudaSuccess) {
    fail("the process ends with an error that was never asked for: %s", cudaGetErrorString(s.last));
  }
}

// Of a make-believe GPU: half of the machine's.
size_t total_memory() {
  return static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<size_t>(sysconf(_SC_PAGE_SIZE)) / 2;
}

bool is_stream(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread) return true;
  const std::lock_guard lock(state().mutex);
  return state().streams.contains(stream);
}

bool is_event(cudaEvent_t event) {
  const std::lock_guard lock(state().mutex);
  return state().events.contains(event);
}

cudaError_t stream_result(cudaStream_t stream) {
  return result(is_stream(stream) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t event_result(cudaEvent_t event) {
  return result(is_event(event) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

cudaError_t copy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const auto lies = [&](const void* memory, bool device) {
    return device ? on_device(memory, bytes) : !touches_device(memory, bytes);
  };
  const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
             from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (kind == cudaMemcpyDefault) {
    if (!lies(to, touches_device(to, bytes)) || !lies(from, touches_device(from, bytes))) {
      return cudaErrorInvalidValue;
    }
  } else if (!lies(to, to_device) || !lies(from, from_device)) {
    return cudaErrorInvalidValue;
  }
  if (bytes > 0) std::memmove(to, from, bytes);
  return cudaSuccess;
}

cudaError_t fill(void* memory, int value, size_t bytes) {
  if (!on_device(memory, bytes)) return cudaErrorInvalidValue;
  if (bytes > 0) std::memset(memory, value, bytes);
  return cudaSuccess;
}

}  // namespace

bool on_device(const void* memory, size_t bytes) {
  if (bytes == 0) return true;
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const uintptr_t first = address_of(memory);
  auto at = s.allocations.upper_bound(first);
  if (at == s.allocations.begin()) return false;
  --at;
  const size_t offset = first - at->first;
  return offset <= at->second && bytes <= at->second - offset;
}

bool touches_device(const void* memory, size_t bytes) {
  State& s = state();
  const std::lock_guard lock(s.mutex);
  const uintptr_t first = address_of(memory);
  auto at = s.allocations.lower_bound(first + bytes);  // the first that begins past our end
  if (at == s.allocations.begin()) return false;
  --at;
  return bytes > 0 && first < at->first + at->second;
}

}  // namespace dashlm::host_cuda

using namespace dashlm::host_cuda;

// Devices.

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  return result(device == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return result(cudaErrorInvalidDevice);
  *properties = {};
  const char* card = std::getenv("DASHLM_HOST_CUDA_CARD");  // what to pretend to be
  std::snprintf(properties->name, sizeof properties->name, "%s",
                card != nullptr ? card : "host-run CUDA (tests)");
  properties->totalGlobalMem = total_memory();
  properties->sharedMemPerBlock = properties->sharedMemPerBlockOptin = size_t{48} << 10;
  properties->sharedMemPerMultiprocessor = size_t{228} << 10;
  properties->regsPerBlock = properties->regsPerMultiprocessor = 65536;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsPerMultiProcessor = 2048;
  properties->maxBlocksPerMultiProcessor = 32;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 0x7fffffff;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->major = 9;
  properties->multiProcessorCount = 2;
  properties->unifiedAddressing = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceSynchronize() {
  return cudaSuccess;
}

// Memory.

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    const size_t total = total_memory();
    if (bytes <= total && s.allocated <= total - bytes) {
      const size_t whole = (bytes + kZone - 1) / kZone * kZone + 2 * kZone;
      auto* block = static_cast<unsigned char*>(std::aligned_alloc(kZone, whole));
      if (block != nullptr) {
        std::memset(block, kZoneByte, kZone);
        std::memset(block + kZone, kPoison, bytes);
        std::memset(block + kZone + bytes, kZoneByte, whole - kZone - bytes);
        *memory = block + kZone;
        s.allocations[address_of(*memory)] = bytes;
        s.allocated += bytes;
        return cudaSuccess;
      }
    }
  }
  return result(cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* memory) {
  if (memory == nullptr) return cudaSuccess;
  State& s = state();
  {
    const std::lock_guard lock(s.mutex);
    if (const auto at = s.allocations.find(address_of(memory)); at != s.allocations.end()) {
      check_zones(at->first, at->second);
      s.allocated -= at->second;
      s.allocations.erase(at);
      std::free(static_cast<unsigned char*>(memory) - kZone);
      return cudaSuccess;
    }
  }
  return result(cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const std::lock_guard lock(state().mutex);
  *total = total_memory();
  *free = *total - state().allocated;
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) {
  *memory = std::malloc(bytes > 0 ? bytes : 1);
  return result(*memory != nullptr ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocDefault);
}

cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return result(copy(to, from, bytes, kind));
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (!is_stream(stream)) return result(cudaErrorInvalidResourceHandle);
  return result(copy(to, from, bytes, kind));
}

cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  return result(fill(memory, value, bytes));
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  if (!is_stream(stream)) return result(cudaErrorInvalidResourceHandle);
  return result(fill(memory, value, bytes));
}

// Streams.

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new CUstream_st;
  const std::lock_guard lock(state().mutex);
  state().streams.insert(*stream);
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().streams.erase(stream) > 0) {
      delete stream;
      return cudaSuccess;
    }
  }
  return result(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return stream_result(stream);
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  return stream_result(stream);
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return is_stream(stream) ? event_result(event) : stream_result(stream);
}

// Events.

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  *event = new CUevent_st;
  (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  const std::lock_guard lock(state().mutex);
  state().events.insert(*event);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) {
  return cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  {
    const std::lock_guard lock(state().mutex);
    if (state().events.erase(event) > 0) {
      delete event;
      return cudaSuccess;
    }
  }
  return result(cudaErrorInvalidResourceHandle);
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (!is_event(event) || !is_stream(stream)) return result(cudaErrorInvalidResourceHandle);
  event->recorded = true;
  event->time = std::chrono::steady_clock::now();
  return cudaSuccess;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return event_result(event);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  return event_result(event);
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  if (!is_event(start) || !is_event(end) || !start->recorded || !end->recorded || !start->timed ||
      !end->timed) {
    return result(cudaErrorInvalidResourceHandle);
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->time - start->time).count();
  return cudaSuccess;
}

// Errors.

cudaError_t cudaGetLastError() {
  const std::lock_guard lock(state().mutex);
  const cudaError_t error = state().last;
  state().last = cudaSuccess;
  return error;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard lock(state().mutex);
  return state().last;
}
