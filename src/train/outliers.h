// Measures outliers of a model's activations: few values far larger than the rest. They make
// activations hard to store in few bits.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "dist/communicator.h"
#include "train/validation.h"

namespace dashlm {

// A place in a layer. `residual` is the residual stream at the input of layer i; with i = n_layer,
// after the last layer. The other sites are inputs of the products with these weights
// (src/model/parameters.h): `gate_up` stands for gate and up, which share their input.
enum class ActivationSite { residual, qkv, attn_out, gate_up, down };

template <>
struct EnumNames<ActivationSite> {
  static constexpr std::pair<ActivationSite, const char*> names[] = {
      {ActivationSite::residual, "residual"}, {ActivationSite::qkv, "qkv"},
      {ActivationSite::attn_out, "attn_out"}, {ActivationSite::gate_up, "gate_up"},
      {ActivationSite::down, "down"},
  };
};

// Figures over all values x of a site: all elements at all scored tokens of the observed sequences.
// m_k is the mean of (x - mean)^k. All figures are computed in double precision.
struct SiteStatistics {
  ActivationSite site = ActivationSite::residual;
  int64_t layer = 0;
  int64_t values = 0;
  double kurtosis = 0;        // m4 / m2²: 3 for a normal distribution; NaN if all are equal
  double max_over_rms = 0;    // max |x| / √mean(x²)
  double beyond_6_sigma = 0;  // share of the values with |x - mean| > 6·√m2; 2e-9 if normal
};

struct OutlierReport {
  int64_t tokens = 0;                 // scored tokens, without those that fill up a sequence
  std::vector<SiteStatistics> sites;  // by site, then by layer
};

// A figure over the layers of one site; NaN if one of the values is NaN.
struct LayerSummary {
  double max = 0, mean = 0;
};
LayerSummary over_layers(const OutlierReport& report, ActivationSite site,
                         double SiteStatistics::*statistic);

// `dashlm eval --outliers` looks at this many sequences, the first of the validation data.
constexpr int64_t kOutlierSequences = 64;

// A forward pass over a batch that shows its activations.
using ObservedPass = std::function<LossSum(const Batch&, const ForwardObserver&)>;

// Measures outliers over the batches of all ranks. Runs `pass` twice over each batch, since sigma
// is known only after the first pass. Returns nothing after a signal, like evaluate_all().
std::optional<OutlierReport> measure_outliers(Communicator& communicator, Device& device,
                                              int64_t n_layer, const SequentialBatches& batches,
                                              const ObservedPass& pass);

}  // namespace dashlm
