// Data sheets of GPUs, for estimates. Rates are dense, without structured sparsity.
#pragma once

#include <span>
#include <string>

namespace dashlm {

struct GpuModel {
  const char* name;
  double bf16, tf32, fp32;  // FLOP/s of matrix products; fp16 is as fast as bf16
  double memory;            // bytes
  double bandwidth;         // of the memory, bytes/s
  double nvlink;            // to GPUs of the same node, one way, bytes/s
  double network;           // to other nodes, its share, one way, bytes/s
};

std::span<const GpuModel> gpu_models();
// The model of a card called `name` by its driver ("NVIDIA H100 80GB HBM3"), or null: unknown.
const GpuModel* gpu_model_of(const std::string& name);
// Throws a bad_input Error that lists the known names.
const GpuModel& find_gpu_model(const std::string& name);

}  // namespace dashlm
