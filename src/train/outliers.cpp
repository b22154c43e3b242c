#include "train/outliers.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "base/moments.h"
#include "device/cpu/parallel.h"
#include "tensor/host_copy.h"

namespace dashlm {
namespace {

// Statistics of every site, in the order of OutlierReport::sites.
std::vector<SiteStatistics> all_sites(int64_t n_layer) {
  std::vector<SiteStatistics> sites;
  for (const auto& [site, name] : EnumNames<ActivationSite>::names) {
    const int64_t layers = site == ActivationSite::residual ? n_layer + 1 : n_layer;
    for (int64_t i = 0; i < layers; ++i) sites.push_back({.site = site, .layer = i});
  }
  return sites;
}

size_t place_of(ActivationSite site, int64_t layer, int64_t n_layer) {
  const auto before = static_cast<int64_t>(site) * n_layer;
  return static_cast<size_t>(before + layer + (site == ActivationSite::residual ? 0 : 1));
}

// A pass over the batches that shows the values of every site.
struct Sweep {
  Communicator& communicator;
  Device& device;
  const int64_t n_layer;
  const SequentialBatches& batches;
  const ObservedPass& pass;

  using See = std::function<void(size_t place, const Tensor& x, const Batch& batch)>;
  // Calls the function with every site of every batch of this rank, and the site's place in the
  // report.
  std::optional<LossSum> show(const See& see) const {
    return evaluate_all(communicator, batches,
                        [&](const Batch& batch) { return pass(batch, observer(see, batch)); });
  }

 private:
  ForwardObserver observer(const See& see, const Batch& batch) const {
    using Site = ActivationSite;
    const auto show_site = [&, this](Site site, int64_t layer, const Tensor& x) {
      see(place_of(site, layer, n_layer), x, batch);
    };
    ForwardObserver observer;
    observer.layer = [=](int64_t i, const Tensor& x, const LayerActivations& a) {
      show_site(Site::residual, i, x);
      show_site(Site::qkv, i, a.norm1);
      show_site(Site::attn_out, i, a.attended);
      show_site(Site::gate_up, i, a.norm2);
      show_site(Site::down, i, a.hidden);
    };
    observer.end = [=, this](const Tensor& x) { show_site(Site::residual, n_layer, x); };
    return observer;
  }
};

// The results of `of_row` for each scored token's values, by token. So their sum depends on neither
// the number of threads nor the size of the batches.
template <class T, class OfRow>
std::vector<T> by_token(Device& device, const Tensor& x, const Batch& batch, const OfRow& of_row) {
  constexpr int64_t kGrain = 16;  // tokens
  const std::vector<float> values = to_host(device, x);
  const auto width = static_cast<size_t>(x.dim(1));
  std::vector<T> found(static_cast<size_t>(x.dim(0)));
  cpu::parallel_ranges(x.dim(0), kGrain, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      if (batch.targets[i] == kIgnoredTarget) continue;
      found[i] = of_row(std::span<const float>(values).subspan(i * width, width));
    }
  });
  return found;
}

std::vector<Moments> over_ranks(Communicator& communicator, const std::vector<Moments>& own) {
  std::vector<Moments> sums(own.size()), part(own.size());
  const size_t size = own.size() * sizeof(Moments);
  const std::string bytes(reinterpret_cast<const char*>(own.data()), size);
  for (const std::string& of_rank : communicator.exchange(bytes)) {
    std::memcpy(part.data(), of_rank.data(), size);
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += part[i];
  }
  return sums;
}

// Adds the moments of this rank's values. Returns the losses of the pass.
std::optional<LossSum> add_moments(const Sweep& sweep, std::vector<Moments>& moments) {
  return sweep.show([&](size_t place, const Tensor& x, const Batch& batch) {
    for (const Moments& token : by_token<Moments>(sweep.device, x, batch, Moments::of)) {
      moments[place] += token;
    }
  });
}

bool count_beyond_6_sigma(const Sweep& sweep, const std::vector<Moments>& moments,
                          std::vector<double>& beyond) {
  const auto see = [&](size_t place, const Tensor& x, const Batch& batch) {
    const double mean = moments[place].mean, limit = 6 * moments[place].deviation();
    const auto is_beyond = [=](float value) {
      return std::abs(static_cast<double>(value) - mean) > limit;
    };
    const auto of_row = [=](std::span<const float> row) {
      return std::count_if(row.begin(), row.end(), is_beyond);
    };
    for (const int64_t count : by_token<int64_t>(sweep.device, x, batch, of_row)) {
      beyond[place] += static_cast<double>(count);
    }
  };
  return sweep.show(see).has_value();
}

void fill_in(SiteStatistics& site, const Moments& moments, double beyond) {
  site.values = moments.count;
  site.kurtosis = moments.kurtosis();
  site.max_over_rms = moments.max_over_rms();
  site.beyond_6_sigma = beyond / static_cast<double>(moments.count);
  if (std::isnan(moments.deviation())) site.beyond_6_sigma = moments.deviation();
}

}  // namespace

LayerSummary over_layers(const OutlierReport& report, ActivationSite site,
                         double SiteStatistics::*statistic) {
  LayerSummary summary{-std::numeric_limits<double>::infinity(), 0};
  int64_t layers = 0;
  for (const SiteStatistics& s : report.sites) {
    if (s.site != site) continue;
    const double value = s.*statistic;
    summary.max = std::max(summary.max, value);
    summary.mean += value;
    ++layers;
  }
  summary.mean /= static_cast<double>(layers);
  if (std::isnan(summary.mean)) summary.max = summary.mean;
  return summary;
}

std::optional<OutlierReport> measure_outliers(Communicator& communicator, Device& device,
                                              int64_t n_layer, const SequentialBatches& batches,
                                              const ObservedPass& pass) {
  const Sweep sweep{communicator, device, n_layer, batches, pass};
  OutlierReport report{0, all_sites(n_layer)};
  std::vector<Moments> moments(report.sites.size());
  const std::optional<LossSum> scored = add_moments(sweep, moments);
  if (!scored) return std::nullopt;
  report.tokens = scored->targets;
  moments = over_ranks(communicator, moments);

  std::vector<double> beyond(report.sites.size());
  if (!count_beyond_6_sigma(sweep, moments, beyond)) return std::nullopt;
  beyond = communicator.sum(beyond);
  for (size_t i = 0; i < report.sites.size(); ++i) fill_in(report.sites[i], moments[i], beyond[i]);
  return report;
}

}  // namespace dashlm
