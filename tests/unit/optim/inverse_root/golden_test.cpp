// Roots recorded from the published implementation.
#include <gtest/gtest.h>

#include "io/safetensors.h"
#include "run_roots.h"

namespace dashlm::testing {
namespace {

struct GoldenCase {
  const char* name;  // in the file
  InverseRootConfig config;
  // Largest relative error (Frobenius) for A of condition 10 and of condition 1000.
  //
  // Both sides compute in fp32 with different orders of addition, so they differ by what fp32 does
  // to the result. EVD: eigenvalues are off by about eps·lambda_max each, the root's by
  // e·eps·cond: 2e-7 and 2e-5 for eps = 6e-8 and e = 1/4 (twice as much for 1/2). CN and NDB make
  // ten steps of products, each with an error of some eps, that NDB with Frobenius scaling
  // amplifies by up to 2.25 a step. Chebyshev adds up 60 terms of alternating sign.
  double tolerance[2];
};

class GoldenRoots : public ::testing::TestWithParam<GoldenCase> {};

TEST_P(GoldenRoots, AreReproduced) {
  const GoldenCase& c = GetParam();
  const SafetensorsReader file(DASHLM_SOURCE_DIR "/tests/golden/roots.safetensors");
  for (const int condition : {0, 1}) {
    const std::string prefix = condition == 0 ? "cond1." : "cond3.";
    const std::vector<float> a = file.read_f32(prefix + "A");
    const int64_t n = 24, size = n * n;
    std::vector<std::vector<float>> matrices;
    for (int64_t s = 0; s < 3; ++s) matrices.emplace_back(&a[s * size], &a[s * size] + size);
    for (const int p : {2, 4}) {
      const RootRun run = run_roots(with_frobenius(c.config), matrices, {.exponent = 1.0 / p});
      const std::vector<float> golden =
          file.read_f32(prefix + c.name + ".root" + std::to_string(p));
      for (size_t s = 0; s < 3; ++s) {
        Dense expected = Dense::of(&golden[s * static_cast<size_t>(size)], n);
        if (std::string(c.name) == "cbshv") {
          const double scale = Dense::of(matrices[s].data(), n).frobenius();
          expected = plus_identity(0.0, std::pow(scale, -1.0 / p), expected);
        }
        EXPECT_LT(relative_error(run.root(s), expected), c.tolerance[condition])
            << prefix << c.name << ".root" << p << " block " << s;
        EXPECT_NE(run.reports[s].status, RootStatus::failed);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Methods, GoldenRoots,
    ::testing::Values(GoldenCase{"evd", {EvdConfig{.rank_rtol = 0}}, {3e-6, 3e-5}},
                      GoldenCase{"cn", {CoupledNewtonConfig{}}, {1e-6, 1e-5}},
                      GoldenCase{"ndb", {NewtonDbConfig{}}, {1e-6, 4e-5}},
                      GoldenCase{"cbshv", {ChebyshevConfig{}}, {3e-5, 3e-4}}),
    [](const auto& method) { return std::string(method.param.name); });

}  // namespace
}  // namespace dashlm::testing
