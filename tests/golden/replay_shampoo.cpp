// fb_shampoo_*: weights after each step of the published Distributed Shampoo, gradients given.
#include <algorithm>

#include "golden/replay_steps.h"
#include "support/optimizer_settings.h"

namespace dashlm::golden {
namespace {

// The one value of a setting that `shampoo` has no key for.
void expect_setting(const Recording& recording, const std::string& key, const std::string& value) {
  require(recording.text(key) == value, "'{}': {} = \"{}\", but only \"{}\" can be replayed",
          recording.path(), key, recording.text(key), value);
}

Grafting recorded_grafting(const Recording& recording) {
  std::string name = recording.text("grafting");
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [value, known] : EnumNames<Grafting>::names) {
    if (name == known) return value;
  }
  fail_input("'{}': grafting \"{}\" is unknown", recording.path(), name);
}

OptimizerConfig recorded_config(const Recording& recording) {
  expect_setting(recording, "weight_decay_type", "decoupled");
  expect_setting(recording, "solver", "eigh, A + epsilon*I");
  const std::vector<double> betas = numbers_in(recording.text("betas"));
  const std::vector<double> exponents = numbers_in(recording.text("inverse_exponent"));
  require(betas.size() == 2 && exponents.size() == 2, "'{}': betas or inverse_exponent malformed",
          recording.path());
  OptimizerConfig config("shampoo");
  BlockShampooConfig& shampoo = block_shampoo(config);
  shampoo.block_size = recording.integer("max_preconditioner_dim");
  shampoo.inverse_root.method =
      EvdConfig{.ridge = recording.number("epsilon"),
                .double_ridge = false,
                .rank_rtol = 0,
                .precision = EighPrecision::float64};  // an epsilon of 1e-12 is noise in fp32
  shampoo.exponent = exponents[0];
  shampoo.vector_exponent = exponents[1];
  shampoo.vectors = VectorRule::shampoo;
  shampoo.beta_g = betas[0];
  shampoo.beta_factors = betas[1];
  // A plain sum has no bias to correct.
  if (betas[1] < 1) expect_setting(recording, "use_bias_correction", "True");
  shampoo.grafting = recorded_grafting(recording);
  if (shampoo.grafting == Grafting::adam) {
    shampoo.beta_graft = recording.number("graft_beta2");
    shampoo.graft_eps = recording.number("graft_eps");
  }
  shampoo.frequency = recording.integer("precondition_frequency");
  shampoo.start = recording.integer("start_preconditioning_step");
  shampoo.momentum = recording.number("momentum");
  shampoo.nesterov = recording.text("nesterov") == "True";
  shampoo.weight_decay = recording.number("weight_decay");
  return config;
}

// The published code drops sides of 1, and makes a vector of whatever fits into one block as such.
Shape published_shape(const Shape& shape, int64_t block) {
  const bool vector = shape.rank() == 1 || shape[0] == 1 || shape[1] == 1;
  return vector || shape.elements() <= block ? Shape{shape.elements()} : shape;
}

// "exact" is the published code in float64, from which our fp32 factors differ by less than the
// recorded fp32 run (stepS). An epsilon below their rounding leaves few digits.
double tolerance(const OptimizerConfig& config, bool exact) {
  const bool tiny = std::get<EvdConfig>(block_shampoo(config).inverse_root.method).ridge < 1e-6;
  return exact ? (tiny ? 1e-2 : 5e-4) : (tiny ? 3e-2 : 3e-3);
}

}  // namespace

Replay replay_shampoo(const Recording& recording) {
  Replay replay{"fb_shampoo", {}};
  const OptimizerConfig config = recorded_config(recording);
  const auto check = [&](const Parameter& parameter, int64_t step,
                         const std::vector<float>& weights) {
    for (const char* kind : {"step", "exact"}) {
      const std::string name = fmt::format("{}.{}{}", parameter.name, kind, step);
      const bool exact = kind == std::string("exact");
      if (exact && !recording.has(name)) continue;
      replay.comparisons.push_back(
          {name,
           step_error(weights, recording.floats(name), recording.floats(parameter.name + ".step0")),
           tolerance(config, exact)});
    }
  };
  const int64_t block = block_shampoo(config).block_size;
  const auto shape_of = [&](const Shape& shape) { return published_shape(shape, block); };
  replay_steps(recording, recorded_parameters(recording, shape_of), config, check);
  return replay;
}

}  // namespace dashlm::golden
