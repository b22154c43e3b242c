// Runs a method on a stack of matrices given as host vectors.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "device/device.h"
#include "optim/inverse_root/inverse_root.h"
#include "support/dense.h"

namespace dashlm::testing {

struct RootRun {
  int64_t n = 0;
  std::vector<std::vector<float>> roots;
  std::vector<RootReport> reports;

  Dense root(size_t block) const { return Dense::of(roots[block].data(), n); }
};

struct RootRunOptions {
  int threads = 2;
  double exponent = 0.25;
  double factor_scale = 1.0;
  std::vector<int64_t> ids = {};  // 0, 1, 2, … if empty
  float previous = -7.0f;         // every element of the previous roots
  uint64_t seed = 1;
  int64_t step = 1;
};

// All matrices are n × n. Memory is planned by a first pass, as in a training run, so any scratch
// that the plan misses is an error.
inline RootRun run_roots(const InverseRootConfig& config,
                         const std::vector<std::vector<float>>& matrices,
                         RootRunOptions options = {}) {
  const auto device = open_device(DASHLM_TEST_DEVICE, options.threads);
  Arena arena(*device, "test"), scratch(*device, "test scratch");
  Context context{*device, scratch};
  const int64_t blocks = std::ssize(matrices);
  const auto n = static_cast<int64_t>(std::llround(std::sqrt(matrices.front().size())));
  if (options.ids.empty()) {
    options.ids.resize(matrices.size());
    std::iota(options.ids.begin(), options.ids.end(), int64_t{0});
  }
  RootRun run{n, {}, {}};
  const auto method = make_inverse_root(config);
  for (const bool planning : {true, false}) {
    const Tensor factors = arena.take("factors", {blocks, n, n});
    const Tensor roots = arena.take("roots", {blocks, n, n});
    const RootReports reports = RootReports::take(arena, blocks);
    if (!planning) {
      for (int64_t s = 0; s < blocks; ++s) {
        std::copy_n(matrices[static_cast<size_t>(s)].data(), n * n, factors.f32() + s * n * n);
      }
      std::fill_n(roots.f32(), roots.elements(), options.previous);
    }
    method->compute(context,
                    {.factors = factors,
                     .roots = roots,
                     .exponent = options.exponent,
                     .factor_scale = options.factor_scale,
                     .block_ids = options.ids,
                     .seed = options.seed,
                     .step = options.step},
                    reports);
    if (planning) {
      arena.commit();
      scratch.commit();
      continue;
    }
    run.reports = read_reports(*device, reports);
    for (int64_t s = 0; s < blocks; ++s) {
      const float* root = roots.f32() + s * n * n;
      run.roots.emplace_back(root, root + n * n);
      // Methods promise to read factors only.
      const auto& before = matrices[static_cast<size_t>(s)];
      EXPECT_EQ(std::memcmp(before.data(), factors.f32() + s * n * n, before.size() * 4), 0);
    }
  }
  return run;
}

inline InverseRootConfig with_frobenius(InverseRootConfig config) {
  std::visit(
      [](auto& method) {
        if constexpr (requires { method.scaling; }) method.scaling.type = ScalingType::frobenius;
      },
      config.method);
  return config;
}

}  // namespace dashlm::testing
