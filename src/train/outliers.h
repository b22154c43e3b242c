// How much the activations of a model have outliers: few values far larger than the rest, which
// make activations hard to store in few bits.
#pragma once

#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "config/schema.h"
#include "dist/communicator.h"
#include "train/validation.h"

namespace dashlm {

// A place in a layer. `residual` is the residual stream: of layer i < n_layer at the layer's input,
// of layer n_layer after the last one. The others are inputs of the products with these weights
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

// Over all values x of a site: all elements at all scored tokens of all sequences looked at. With
// m_k the mean of (x - mean)^k, and everything in double precision:
struct SiteStatistics {
  ActivationSite site = ActivationSite::residual;
  int64_t layer = 0;
  int64_t values = 0;
  double kurtosis = 0;        // m4 / m2²: 3 for a normal distribution; NaN if all are equal
  double max_over_rms = 0;    // max |x| / √mean(x²)
  double beyond_6_sigma = 0;  // share of the values with |x - mean| > 6·√m2; 2e-9 if normal
};

struct OutlierReport {
  int64_t tokens = 0;                 // scored: those that fill up the last sequence are left out
  std::vector<SiteStatistics> sites;  // site by site, and by layer within
};

// Over the layers of one site; NaN as soon as one of the values is.
struct LayerSummary {
  double max = 0, mean = 0;
};
LayerSummary over_layers(const OutlierReport& report, ActivationSite site,
                         double SiteStatistics::*statistic);

// `dashlm eval --outliers` looks at so many sequences of the validation data, its first.
constexpr int64_t kOutlierSequences = 64;

// A forward pass over a batch which shows its activations.
using ObservedPass = std::function<LossSum(const Batch&, const ForwardObserver&)>;

// Over the batches of all ranks. Runs `pass` twice over each batch, since which values lie beyond
// 6 sigma is known once sigma is. Nothing comes of it after a signal, see evaluate_all().
std::optional<OutlierReport> measure_outliers(Communicator& communicator, Device& device,
                                              int64_t n_layer, const SequentialBatches& batches,
                                              const ObservedPass& pass);

}  // namespace dashlm
