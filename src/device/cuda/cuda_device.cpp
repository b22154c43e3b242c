#include "device/cuda/cuda_device.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>

#include "base/error.h"
#include "device/cuda/check.h"
#include "device/gpu_models.h"

namespace dashlm::cuda {
namespace {

class Stamp final : public TimeMark::Stamp {
 public:
  explicit Stamp(cudaStream_t stream) : event_(Event::Kind::time, stream) {}

  double milliseconds_since(const TimeMark::Stamp& earlier) const override {
    return event_.milliseconds_since(static_cast<const Stamp&>(earlier).event_);
  }

 private:
  Event event_;
};

// Makes the GPU current before anything is made on it.
int make_current(int gpu) {
  check(cudaSetDevice(gpu));
  return gpu;
}

}  // namespace

int device_count() {
  int count = 0;
  return cudaGetDeviceCount(&count) == cudaSuccess ? count : 0;
}

std::string device_count_error() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  static_cast<void>(cudaGetLastError());  // it is reported here
  return error == cudaSuccess ? fmt::format("{} devices", count) : cudaGetErrorString(error);
}

DeviceInfo describe(int index) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index));
  return {properties.name, properties.major, properties.minor,
          static_cast<int64_t>(properties.totalGlobalMem)};
}

CudaDevice::CudaDevice(int index)
    : index_(make_current(index)), model_(gpu_model_of(describe(index).name)) {
  check(cublasLtCreate(&blas_));
  check(cusolverDnCreate(&solver_));
  check(cusolverDnSetStream(solver_, stream_));
  blas_workspace_ = allocate(kBlasWorkspace);
}

// A failure here follows an earlier one, which was reported.
CudaDevice::~CudaDevice() {
  static_cast<void>(cudaStreamSynchronize(stream_));
  release(blas_workspace_);
  static_cast<void>(cusolverDnDestroy(solver_));
  static_cast<void>(cublasLtDestroy(blas_));
}

std::string CudaDevice::description() const {
  const DeviceInfo info = describe(index_);
  return fmt::format("{} (GPU {}, compute capability {}.{}, {:.0f} GiB)", info.name, index_,
                     info.major, info.minor, static_cast<double>(info.memory) / (1 << 30));
}

void* CudaDevice::allocate(int64_t bytes) {
  if (bytes < 0) fail_runtime("{} bytes of GPU memory were asked for", bytes);
  void* memory = nullptr;
  const auto size = static_cast<size_t>(bytes > 0 ? bytes : 1);
  if (cudaMalloc(&memory, size) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());  // it is reported here
    size_t free = 0, total = 0;
    check(cudaMemGetInfo(&free, &total));
    fail_runtime("out of memory: GPU {} cannot provide {} bytes; {} of its {} are free", index_,
                 bytes, free, total);
  }
  clear(memory, bytes);
  return memory;
}

void CudaDevice::release(void* memory) {
  static_cast<void>(cudaFree(memory));
}

void CudaDevice::upload(void* to_device, const void* from_host, int64_t bytes) {
  check(cudaMemcpyAsync(to_device, from_host, static_cast<size_t>(bytes), cudaMemcpyHostToDevice,
                        stream_));
  synchronize();
}

void CudaDevice::download(void* to_host, const void* from_device, int64_t bytes) {
  check(cudaMemcpyAsync(to_host, from_device, static_cast<size_t>(bytes), cudaMemcpyDeviceToHost,
                        stream_));
  synchronize();
}

void CudaDevice::copy(void* to, const void* from, int64_t bytes) {
  check(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), cudaMemcpyDeviceToDevice, stream_));
}

void CudaDevice::clear(void* memory, int64_t bytes) {
  check(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), stream_));
}

void CudaDevice::synchronize() {
  check(cudaStreamSynchronize(stream_));
}

void* CudaDevice::allocate_host(int64_t bytes) {
  void* memory = nullptr;
  check(cudaMallocHost(&memory, static_cast<size_t>(std::max<int64_t>(bytes, 1))));
  return memory;
}

void CudaDevice::release_host(void* memory) {
  static_cast<void>(cudaFreeHost(memory));
}

void CudaDevice::start_upload(void* to_device, const void* from_host_memory, int64_t bytes) {
  check(cudaMemcpyAsync(to_device, from_host_memory, static_cast<size_t>(bytes),
                        cudaMemcpyHostToDevice, stream_));
}

TimeMark CudaDevice::mark() {
  return TimeMark(std::make_shared<Stamp>(stream_));
}

void CudaDevice::begin_range(const char* name) {
  nvtxRangePushA(name);
}

void CudaDevice::end_range() {
  nvtxRangePop();
}

}  // namespace dashlm::cuda
