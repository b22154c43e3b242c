// The statistics of activations against those of the model in float64.
#include "train/outliers.h"

#include <map>

#include "support/reference_llama.h"
#include "support/tiny_llama.h"
#include "unit/data/test_files.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kTokens = 135, kLength = 16, kBatch = 2;  // the last window is half empty

ModelConfig small() {
  return {.n_layer = 2,
          .d_model = 24,
          .n_head = 4,
          .n_kv_head = 2,
          .d_ff = 37,
          .vocab_size = 53,
          .seq_len = kLength,
          .init_std = 0.2};
}

// A model with outliers in some of its activations, and a stream of tokens.
class Outliers : public ::testing::Test {
 protected:
  Outliers()
      : stream_(std::vector<std::string>{files_.write(
                    "tokens.bin", test::bytes_of(test::counting(kTokens, 0, 50)))},
                small().vocab_size) {
    for (const Parameter& p : llama_.layout().parameters()) {
      const Tensor weights = ParameterLayout::view(llama_.weights(), p);
      if (p.name == "layer1.attn_norm") weights.f32()[5] = 20;
      if (p.name == "layer0.up") {
        for (int64_t i = 0; i < p.shape[1]; ++i) weights.f32()[i] *= 30;
      }
    }
  }

  SequentialBatches batches(int64_t batch = kBatch) const {
    return {stream_, kLength, batch, 0, 0, 1};
  }

  LossSum pass(const dashlm::Batch& batch, const ForwardObserver& observer) {
    const auto on_device = [&](const char* name, const std::vector<int32_t>& from) {
      const Tensor x = llama_.lab().integers(name, std::ssize(from), 0, 1);
      std::copy(from.begin(), from.end(), x.i32());
      return x;
    };
    const Tensor tokens = on_device("tokens", batch.tokens);
    const Tensor targets = on_device("targets", batch.targets);
    const Tensor losses = llama_.lab().output("losses", tokens.shape);
    llama_.run([&](Context& context, Arena& arena) {
      llama_.model().evaluate(context, arena, tokens, targets, {batch.sequences, batch.seq_len},
                              losses, observer);
    });
    return {0, batch.scored_targets()};
  }

  OutlierReport measure(int64_t batch = kBatch) {
    LoneCommunicator alone;
    return *measure_outliers(
        alone, llama_.lab().device(), small().n_layer, batches(batch),
        [&](const dashlm::Batch& b, const ForwardObserver& observer) { return pass(b, observer); });
  }

  test::TempDir files_;
  TokenStream stream_;
  TinyLlama llama_{small()};
};

// Values of the scored tokens, in float64.
using SeenBySite = std::map<std::pair<std::string, int64_t>, Doubles>;

SeenBySite float64_activations(const TinyLlama& llama, const SequentialBatches& batches) {
  const Doubles weights = values(llama.weights());
  const reference::ReferenceLlama model(llama.config(), weights);
  SeenBySite seen;
  for (int64_t i = 0; i < batches.batches(); ++i) {
    const dashlm::Batch batch = batches.at(i);
    model.logits(batch.tokens, {batch.sequences, batch.seq_len},
                 [&](int64_t layer, const std::string& site, const Doubles& x) {
                   const size_t width = x.size() / batch.tokens.size();
                   for (size_t j = 0; j < x.size(); ++j) {
                     if (batch.targets[j / width] >= 0) seen[{site, layer}].push_back(x[j]);
                   }
                 });
  }
  return seen;
}

SiteStatistics by_definition(const Doubles& x) {
  const auto mean_of = [&](const auto& f) {
    long double sum = 0;
    for (const double value : x) sum += f(value);
    return static_cast<double>(sum / static_cast<long double>(x.size()));
  };
  const double mean = mean_of([](double v) { return v; });
  const double m2 = mean_of([&](double v) { return std::pow(v - mean, 2); });
  const double m4 = mean_of([&](double v) { return std::pow(v - mean, 4); });
  double largest = 0;
  for (const double v : x) largest = std::max(largest, std::abs(v));
  SiteStatistics result;
  result.values = std::ssize(x);
  result.kurtosis = m4 / (m2 * m2);
  result.max_over_rms = largest / std::sqrt(mean_of([](double v) { return v * v; }));
  result.beyond_6_sigma =
      mean_of([&](double v) { return std::abs(v - mean) > 6 * std::sqrt(m2) ? 1.0 : 0.0; });
  return result;
}

TEST_F(Outliers, AreThoseOfActivationsInFloat64) {
  const OutlierReport report = measure();
  SeenBySite seen = float64_activations(llama_, batches());
  EXPECT_EQ(report.tokens, kTokens - 1);
  ASSERT_EQ(report.sites.size(), seen.size());
  std::map<std::string, double> beyond;
  for (const SiteStatistics& s : report.sites) {
    SCOPED_TRACE(::testing::Message() << enum_name(s.site) << " of layer " << s.layer);
    const SiteStatistics wanted = by_definition(seen[{enum_name(s.site), s.layer}]);
    EXPECT_EQ(s.values, wanted.values);
    EXPECT_NEAR(s.kurtosis, wanted.kurtosis, 1e-5 * wanted.kurtosis);
    EXPECT_NEAR(s.max_over_rms, wanted.max_over_rms, 1e-5 * wanted.max_over_rms);
    EXPECT_DOUBLE_EQ(s.beyond_6_sigma, wanted.beyond_6_sigma);
    beyond[enum_name(s.site)] += s.beyond_6_sigma;
  }
  EXPECT_GT(beyond["qkv"], 0);
  EXPECT_GT(beyond["down"], 0);
}

TEST_F(Outliers, DependOnNeitherThreadsNorBatches) {
  const OutlierReport one = measure();
  const auto expect_same = [&](const OutlierReport& other) {
    ASSERT_EQ(one.sites.size(), other.sites.size());
    for (size_t i = 0; i < one.sites.size(); ++i) {
      EXPECT_EQ(one.sites[i].kurtosis, other.sites[i].kurtosis);
      EXPECT_EQ(one.sites[i].max_over_rms, other.sites[i].max_over_rms);
      EXPECT_EQ(one.sites[i].beyond_6_sigma, other.sites[i].beyond_6_sigma);
    }
  };
  for (const int threads : {1, 2, 5}) {
    const ThreadScope scope(threads);
    expect_same(measure());
  }
  const OutlierReport whole = measure(9);
  for (size_t i = 0; i < one.sites.size(); ++i) {
    EXPECT_NEAR(one.sites[i].kurtosis, whole.sites[i].kurtosis, 1e-5 * whole.sites[i].kurtosis);
  }
}

TEST(LayerSummary, IsOfOneSiteAndPassesNaNOn) {
  OutlierReport report;
  const auto add = [&](ActivationSite site, double kurtosis) {
    report.sites.push_back({.site = site, .kurtosis = kurtosis});
  };
  for (const double value : {3.0, 7.0, 2.0}) add(ActivationSite::qkv, value);
  for (const double value : {1.0, std::nan(""), 90.0}) add(ActivationSite::down, value);
  const LayerSummary qkv = over_layers(report, ActivationSite::qkv, &SiteStatistics::kurtosis);
  EXPECT_EQ(qkv.max, 7);
  EXPECT_EQ(qkv.mean, 4);
  const LayerSummary down = over_layers(report, ActivationSite::down, &SiteStatistics::kurtosis);
  EXPECT_TRUE(std::isnan(down.max));
  EXPECT_TRUE(std::isnan(down.mean));
}

}  // namespace
}  // namespace dashlm::testing
