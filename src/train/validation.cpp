#include "train/validation.h"

#include "base/signals.h"

namespace dashlm {

std::optional<LossSum> evaluate_all(Communicator& communicator, const SequentialBatches& batches,
                                    const std::function<LossSum(const Batch&)>& loss_of) {
  LossSum own;
  for (int64_t i = 0;; ++i) {
    const bool more = i < batches.batches();
    const double mine[] = {stop_signal() ? 1.0 : 0.0, more ? 1.0 : 0.0};
    const std::vector<double> ranks = communicator.sum(mine);  // that stop, that have more
    if (ranks[0] > 0) return std::nullopt;
    if (ranks[1] == 0) break;
    if (more) own += loss_of(batches.at(i));
  }
  return add_up(communicator, own);
}

}  // namespace dashlm
