// Factors of low rank: gradients that leave most directions alone.
#include <numeric>

#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

constexpr int64_t kRows = 64, kCols = 64, kUsed = 4;

// Gradients of 4 rows out of 64, in the span of 4 vectors: what an embedding of 64 tokens sees of a
// text that uses 4.
void set_low_rank_gradients(StepLab& lab, int64_t t) {
  const CounterRandom random(5, Purpose::test, 0), mix(6, Purpose::test, static_cast<uint64_t>(t));
  float* out = lab.gradient(0).f32();
  std::fill_n(out, kRows * kCols, 0.0f);
  for (int64_t i = 0; i < kUsed; ++i) {
    for (int64_t j = 0; j < kCols; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < kUsed; ++k) {
        sum += mix.normal(static_cast<uint64_t>(i * kUsed + k)) *
               random.normal(static_cast<uint64_t>(k * kCols + j));
      }
      out[i * kCols + j] = static_cast<float>(1e-2 * sum);
    }
  }
}

// The vectors that span the rows of all gradients, made orthonormal.
std::vector<std::vector<double>> row_space() {
  const CounterRandom random(5, Purpose::test, 0);
  std::vector<std::vector<double>> basis;
  for (int64_t k = 0; k < kUsed; ++k) {
    std::vector<double> v(kCols);
    for (int64_t j = 0; j < kCols; ++j) {
      v[static_cast<size_t>(j)] = random.normal(static_cast<uint64_t>(k * kCols + j));
    }
    const auto dot = [](const auto& a, const auto& b) {
      return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
    };
    for (int pass = 0; pass < 2; ++pass) {
      for (const auto& u : basis) {
        const double along = dot(u, v);
        for (size_t j = 0; j < v.size(); ++j) v[j] -= along * u[j];
      }
    }
    const double length = std::sqrt(dot(v, v));
    for (double& x : v) x /= length;
    basis.push_back(v);
  }
  return basis;
}

// The part of the last of 16 updates that lies outside the span of all gradients, as a share of it.
double share_outside(const OptimizerConfig& config) {
  StepLab lab(config, ParameterLayout({{"w", {kRows, kCols}, 0, 1}}));
  for (int64_t t = 1; t <= 16; ++t) {
    set_low_rank_gradients(lab, t);
    std::fill_n(lab.weight(0).f32(), kRows * kCols, 0.0f);  // an update alone: no digit is lost
    lab.update(t);
  }
  const std::vector<float> after = lab.weights();
  const auto basis = row_space();
  double whole = 0, inside = 0;
  for (int64_t i = 0; i < kRows; ++i) {
    for (int64_t j = 0; j < kCols; ++j)
      whole += std::pow(double{after[static_cast<size_t>(i * kCols + j)]}, 2);
    for (const auto& u : basis) {
      double along = 0;
      for (int64_t j = 0; j < kCols; ++j) {
        along += u[static_cast<size_t>(j)] * double{after[static_cast<size_t>(i * kCols + j)]};
      }
      if (i < kUsed) inside += along * along;
    }
  }
  return std::sqrt(std::max(0.0, whole - inside) / whole);
}

OptimizerConfig with_evd(const std::string& type, const EvdConfig& evd) {
  OptimizerConfig config(type);
  block_shampoo(config).block_size = kRows;
  block_shampoo(config).exponent = 0.5;
  block_shampoo(config).start = block_shampoo(config).frequency = 1;
  block_shampoo(config).inverse_root.method = evd;
  return config;
}

// Beside the true eigenvalues stand those that rounding makes of zeros, about 1e-7 of the largest.
// An inverse square root makes up to 1e5 times as much of them as of the others.
TEST(LowRank, UpdatesStayWithinTheSpanOfGradients) {
  for (const std::string type : {"dash", "shampoo"}) {
    EvdConfig evd{.double_ridge = type == "dash"};
    EXPECT_LT(share_outside(with_evd(type, evd)), 1e-6) << type;
    evd.rank_rtol = 0;
    EXPECT_GT(share_outside(with_evd(type, evd)), 1e-4) << type;
  }
}

}  // namespace
}  // namespace dashlm::testing
