#include "train/step_estimate.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <variant>
#include <vector>

#include "optim/shampoo/config.h"

namespace dashlm {
namespace {

constexpr int kGpusPerNode = 8;
constexpr double kLinkEfficiency = 0.8, kLatency = 10e-6;

// Whether a method's work is a decomposition. Its few products do not count beside it.
template <typename Method>
constexpr bool kDecomposes = std::is_same_v<std::decay_t<Method>, EvdConfig>;

// The FLOP/s that an update reaches.
double update_rate(const OptimizerConfig& config, const GpuModel& gpu) {
  const auto rate = [&](const auto& method) {
    if constexpr (!kDecomposes<decltype(method)>) {
      const MatmulPrecision matmul = method.matmul;
      const double peak = matmul == MatmulPrecision::fp32   ? gpu.fp32
                          : matmul == MatmulPrecision::tf32 ? gpu.tf32
                                                            : gpu.bf16;
      return 0.3 * peak;
    } else {
      return 0.013 * gpu.fp32;
    }
  };
  const auto* shampoo = config.as<BlockShampooConfig>();
  return shampoo ? std::visit(rate, shampoo->inverse_root.method) : 0.3 * gpu.fp32;
}

}  // namespace

StepEstimate estimate_step(const RunConfig& config, const StepPlan& plan, const GpuModel& gpu,
                           double network) {
  const int ranks = plan.place.ranks;
  StepEstimate step;
  const int64_t sequences = (config.train.batch + ranks - 1) / ranks;
  const DType type = dtype_of(config.train.precision);
  const double peak = type == DType::bf16 ? gpu.bf16 : gpu.fp32;
  step.model = static_cast<double>(sequences) * plan.sequence_flops / (0.55 * peak);
  // State and weights are read and written. Gradients are read.
  const double bytes = 2.0 * static_cast<double>(plan.memory.optimizer) +
                       12.0 * static_cast<double>(plan.own_parameters);
  step.update =
      plan.update_flops / update_rate(config.optimizer, gpu) + bytes / (0.8 * gpu.bandwidth);
  if (ranks == 1) return step;

  const double link = ranks <= kGpusPerNode ? gpu.nvlink : (network > 0 ? network : gpu.network);
  const auto buckets = static_cast<double>(plan.buckets);
  const double latency = buckets * std::log2(ranks) * kLatency;
  const double sent = static_cast<double>(plan.parameters) * (ranks - 1) / ranks;
  step.reduce = 4 * sent / (kLinkEfficiency * link) + latency;
  step.gather = static_cast<double>(size_of(type)) * sent / (kLinkEfficiency * link) + latency;
  const auto micro = static_cast<double>((sequences + plan.micro_batch - 1) / plan.micro_batch);
  const auto exposed = [&](double travel, double hidden_behind) {
    return std::max(travel / buckets, travel - hidden_behind);
  };
  step.exposed_reduce = exposed(step.reduce, step.model / micro * 2 / 3);
  step.exposed_gather = exposed(step.gather, step.model / micro / 3);
  return step;
}

std::string left_out_of_estimate(const RunConfig& config) {
  const auto* shampoo = config.optimizer.as<BlockShampooConfig>();
  if (!shampoo) return "";
  std::vector<std::string> parts;
  std::string root;  // the precision assumed for all products
  std::visit(
      [&](const auto& method) {
        if constexpr (!kDecomposes<decltype(method)>) root = enum_name(method.matmul);
        if constexpr (requires { method.root_matmul; }) {
          if (method.root_matmul == method.matmul) return;
          parts.push_back(fmt::format("optimizer.inverse_root.root_matmul = {}",
                                      enum_name(method.root_matmul)));
        }
      },
      shampoo->inverse_root.method);
  const std::string blocks = enum_name(shampoo->matmul);
  if (!root.empty() && blocks != root) parts.push_back("optimizer.matmul = " + blocks);
  std::string text;
  if (!parts.empty()) {
    text = fmt::format("{}, as all products count as {}", fmt::join(parts, " and "), root);
  }
  if (shampoo->stacking != Stacking::rank) {
    text += fmt::format("{}optimizer.stacking = {}, as all blocks of a rank count as one batch",
                        text.empty() ? "" : "; ", enum_name(shampoo->stacking));
  }
  return text;
}

}  // namespace dashlm
