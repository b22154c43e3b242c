// The CUDA backend's Device: one GPU, on which work runs in the order of one stream.
#pragma once

#include <cublasLt.h>
#include <cuda_runtime.h>
#include <cusolverDn.h>

#include "device/cuda/stream.h"
#include "device/device.h"

namespace dashlm::cuda {

// The number of GPUs that answer; 0 without a driver.
int device_count();
// Why that number is 0, in the words of CUDA.
std::string device_count_error();
DeviceInfo describe(int index);

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  DeviceKind kind() const override { return DeviceKind::cuda; }
  std::string description() const override;
  void* allocate(int64_t bytes) override;
  void release(void* memory) override;
  // These two wait until the host memory may be used again.
  void upload(void* to_device, const void* from_host, int64_t bytes) override;
  void download(void* to_host, const void* from_device, int64_t bytes) override;
  void copy(void* to, const void* from, int64_t bytes) override;
  void clear(void* memory, int64_t bytes) override;
  void synchronize() override;
  void* allocate_host(int64_t bytes) override;
  void release_host(void* memory) override;
  void start_upload(void* to_device, const void* from_host_memory, int64_t bytes) override;
  TimeMark mark() override;
  void begin_range(const char* name) override;
  void end_range() override;
  const GpuModel* model() const override { return model_; }

  cudaStream_t stream() const { return stream_; }
  cublasLtHandle_t blas() const { return blas_; }
  cusolverDnHandle_t solver() const { return solver_; }
  // Memory for cuBLASLt's own use.
  static constexpr int64_t kBlasWorkspace = int64_t{32} << 20;
  void* blas_workspace() const { return blas_workspace_; }

 private:
  int index_;
  const GpuModel* model_;
  Stream stream_;
  cublasLtHandle_t blas_ = nullptr;
  cusolverDnHandle_t solver_ = nullptr;
  void* blas_workspace_ = nullptr;
};

}  // namespace dashlm::cuda
