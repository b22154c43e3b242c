// Settings of AdEMAMix (Pagliardini, Ablin and Grangier 2024, arXiv 2409.03137).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "optim/optimizer.h"

namespace dashlm {

struct AdemamixConfig {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double beta3 = 0.9999;
  double alpha = 5.0;
  int64_t alpha_warmup = 0;  // T_α
  int64_t beta3_warmup = 0;  // T_β
  double eps = 1e-8;
  double weight_decay = 0.0;
  bool decay_vectors = false;
  int64_t block_size = 1024;

  void describe(Schema& schema);
  BlockCut cut() const { return {.block_size = block_size}; }
  double cost(const Block& block) const { return static_cast<double>(block.place.elements()); }
  std::vector<std::string> warnings(int64_t steps) const;
  std::unique_ptr<Optimizer> make(OptimizerParts parts) const;

  // α and β₃ at update t, counted from 1:
  //   α(t) = min(t·α/T_α, α)
  //   β₃(t) = min(exp(ln β₁·ln β₃ / ((1 - t/T_β)·ln β₃ + t/T_β·ln β₁)), β₃)
  // The second makes the half-life of the slow average grow linearly from that of the fast one.
  double alpha_at(int64_t update) const;
  double beta3_at(int64_t update) const;
};

}  // namespace dashlm
