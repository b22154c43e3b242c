// The block-Shampoo step: equal results whatever the stacking, invariances, options, failures. That
// the step is the published one is shown by the recorded runs (tests/golden).
#include "optim/shampoo/block_shampoo.h"

#include <set>

#include "support/expect_error.h"
#include "support/step_lab.h"

namespace dashlm::testing {
namespace {

TEST(BlockShampoo, StackingChangesNoBit) {
  for (const bool stagger : {false, true}) {
    std::vector<float> reference;
    for (const Stacking stacking : {Stacking::rank, Stacking::layer, Stacking::block}) {
      for (const int threads : {1, 3}) {
        OptimizerConfig config = small_dash();
        block_shampoo(config).stacking = stacking;
        block_shampoo(config).frequency = 3;
        block_shampoo(config).stagger = stagger;
        block_shampoo(config).momentum = 0.5;
        block_shampoo(config).weight_decay = 0.1;
        StepLab lab(config, awkward_parameters(), threads);
        lab.run(7);
        if (reference.empty()) reference = lab.weights();
        EXPECT_EQ(lab.weights(), reference) << enum_name(stacking) << ", " << threads << " threads";
      }
    }
  }
}

// Bias-corrected factors differ from plain ones by a scalar, which grafting removes; the rest of
// what distinguishes the two optimizers is set to the same values. After a few updates all factors
// have full rank, so the roots are well conditioned enough for fp32.
TEST(BlockShampoo, ShampooWithNeutralOptionsIsDash) {
  OptimizerConfig dash = small_dash(), shampoo("shampoo");
  block_shampoo(shampoo).block_size = 4;
  block_shampoo(shampoo).vectors = VectorRule::adamw;
  block_shampoo(dash).vectors = VectorRule::adamw;
  block_shampoo(dash).inverse_root.method = EvdConfig{.ridge = 1e-12, .rank_rtol = 0};
  block_shampoo(shampoo).inverse_root.method =
      EvdConfig{.ridge = 1e-12, .double_ridge = false, .rank_rtol = 0};
  for (OptimizerConfig* config : {&dash, &shampoo}) {
    block_shampoo(*config).start = 6;
    block_shampoo(*config).frequency = 2;
  }
  StepLab a(dash), b(shampoo);
  EXPECT_NE(block_shampoo(dash).factor_bias_correction,
            block_shampoo(shampoo).factor_bias_correction);
  a.run(10);
  b.run(10);
  EXPECT_LT(relative_difference(a.weights(), b.weights()), 1e-4);
}

TEST(BlockShampoo, DirectionDoesNotDependOnTheGradientsScale) {
  for (const double scale : {1e-4, 1e-2, 1e2, 1e4}) {
    OptimizerConfig config = small_dash();
    block_shampoo(config).graft_eps = 1e-30;
    StepLab one(config), scaled(config);
    const std::vector<float> start = one.weights();
    one.run(4, 1e-2);
    scaled.run(4, scale * 1e-2);
    EXPECT_LT(
        relative_difference(movement(start, scaled.weights()), movement(start, one.weights())),
        1e-3)
        << scale;
  }
}

TEST(BlockShampoo, ClippingScalesTheGradient) {
  StepLab clipped(small_dash()), small(small_dash());
  for (int64_t t = 1; t <= 3; ++t) {
    clipped.set_gradients(t, 8e-2);
    clipped.update(t, 0.1, 0.125);
    small.set_gradients(t, 1e-2);
    small.update(t);
  }
  // Powers of two: the scaled gradients are the same floats up to the rounding of 8e-2 · x.
  EXPECT_LT(relative_difference(clipped.weights(), small.weights()), 1e-5);
}

TEST(BlockShampoo, ZeroBlockMovesNothingAndDisturbsNobody) {
  for (const std::string type : {"dash", "shampoo"}) {
    OptimizerConfig config(type);
    block_shampoo(config).block_size = 4;
    block_shampoo(config).start = 1;
    block_shampoo(config).vectors = VectorRule::shampoo;
    StepLab zero(config), other(config);
    const std::vector<float> before = zero.weights(1);
    for (int64_t t = 1; t <= 3; ++t) {
      zero.set_gradients(t);
      std::fill_n(zero.gradient(1).f32(), zero.gradient(1).elements(), 0.0f);
      zero.update(t);
      other.set_gradients(t);
      other.update(t);
    }
    EXPECT_EQ(zero.weights(1), before);
    for (const size_t parameter : {0u, 2u, 3u, 4u, 5u, 6u}) {
      EXPECT_EQ(zero.weights(parameter), other.weights(parameter)) << parameter;
    }
  }
}

TEST(BlockShampoo, ABlockThatFailsKeepsItsRootAndDisturbsNobody) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).max_failures = 3;
  StepLab broken(config), sound(config);
  const auto update = [&](int64_t t) {
    broken.set_gradients(t);
    broken.update(t);
    sound.set_gradients(t);
    sound.update(t);
  };
  update(1);
  // One element of one factor is lost; its EMA stays NaN.
  const std::string name = "L of b[4:8, 0:4]";
  broken.state(name).f32()[0] = kNaN;
  const Doubles root = values(broken.state("root of " + name));
  update(2);
  EXPECT_EQ(values(broken.state("root of " + name)), root);
  EXPECT_EQ(broken.state("failures of " + name).i32()[0], 1);
  for (const size_t parameter : {0u, 2u, 3u, 4u, 5u, 6u}) {
    EXPECT_EQ(broken.weights(parameter), sound.weights(parameter)) << parameter;
  }
  update(3);
  EXPECT_EQ(broken.state("failures of " + name).i32()[0], 2);
  broken.set_gradients(4);
  try {
    broken.update(4);
    FAIL() << "three failures in a row must end the run";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ExitCode::diverged);
    EXPECT_NE(std::string(e.what()).find(name), std::string::npos) << e.what();
  }
}

TEST(BlockShampoo, ASuccessResetsTheCount) {
  StepLab lab(small_dash());
  lab.run(1);
  const std::string name = "R of a[0:4, 4:8]";
  const Tensor factor = lab.state(name);
  const Doubles before = values(factor);
  factor.f32()[0] = kNaN;
  lab.set_gradients(2);
  lab.update(2);
  EXPECT_EQ(lab.state("failures of " + name).i32()[0], 1);
  for (int64_t i = 0; i < factor.elements(); ++i) {
    factor.f32()[i] = static_cast<float>(before[static_cast<size_t>(i)]);
  }
  lab.set_gradients(3);
  lab.update(3);
  EXPECT_EQ(lab.state("failures of " + name).i32()[0], 0);
}

// Updates after which some root differs from before.
std::set<int64_t> refreshes(const OptimizerConfig& config, int64_t updates) {
  StepLab lab(config);
  std::set<int64_t> steps;
  std::vector<double> before = lab.root_norms();
  for (int64_t t = 1; t <= updates; ++t) {
    lab.set_gradients(t);
    lab.update(t);
    const std::vector<double> now = lab.root_norms();
    if (now != before) steps.insert(t);
    before = now;
  }
  return steps;
}

TEST(BlockShampoo, RefreshesAtTheStartAndThenEveryFUpdates) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).frequency = 3;
  EXPECT_EQ(refreshes(config, 8), (std::set<int64_t>{1, 3, 6}));
  block_shampoo(config).start = 4;  // no multiple of f: refreshed all the same
  EXPECT_EQ(refreshes(config, 10), (std::set<int64_t>{4, 6, 9}));
  block_shampoo(config).start = -1;  // Distributed Shampoo's default
  EXPECT_EQ(refreshes(config, 8), (std::set<int64_t>{3, 6}));
}

TEST(BlockShampoo, StaggeringRefreshesEveryBlockOnceInFUpdates) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).frequency = 4;
  block_shampoo(config).stagger = true;
  StepLab lab(config);
  lab.run(1);
  std::vector<double> before = lab.root_norms();
  std::vector<int> changes(before.size());
  for (int64_t t = 2; t <= 5; ++t) {
    lab.set_gradients(t);
    lab.update(t);
    const std::vector<double> now = lab.root_norms();
    size_t changed = 0;
    for (size_t i = 0; i < now.size(); ++i) {
      if (now[i] != before[i]) {
        ++changes[i];
        ++changed;
      }
    }
    EXPECT_LT(changed, now.size() / 2);  // no update does most of the work
    before = now;
  }
  EXPECT_EQ(changes, std::vector<int>(changes.size(), 1));
}

const InverseRootConfig kMethods[] = {
    {EvdConfig{}}, {CoupledNewtonConfig{}}, {NewtonDbConfig{}}, {ChebyshevConfig{}}};

// An update that takes more scratch memory than was planned is an error, so it is enough that all
// of them are made.
TEST(BlockShampoo, ThePlanCoversUpdatesBeforeAndAfterTheStart) {
  // Many blocks: their directions take more scratch memory than the roots of some batches do.
  const ParameterLayout many_blocks({{"w", {13 * 32, 32}, 0, 1}});
  for (const InverseRootConfig& method : kMethods) {
    for (const int64_t start : {-1, 1, 2, 5}) {
      for (const bool stagger : {false, true}) {
        OptimizerConfig config("dash");
        block_shampoo(config).block_size = 32;
        block_shampoo(config).inverse_root = method;
        block_shampoo(config).start = start;
        block_shampoo(config).frequency = 3;
        block_shampoo(config).stagger = stagger;
        StepLab lab(config, many_blocks);
        EXPECT_NO_THROW(lab.run(7)) << enum_name(method.type()) << ", start " << start;
      }
    }
  }
}

// Ten factors are shared out to two threads, which take one at a time. Of a part of three the
// threads work on all together, which takes more.
TEST(BlockShampoo, ThePlanCoversThePartsThatStaggeringRefreshes) {
  OptimizerConfig config("dash");
  block_shampoo(config).block_size = 256;
  CoupledNewtonConfig method;
  method.steps = 2;
  block_shampoo(config).inverse_root.method = method;
  block_shampoo(config).frequency = 2;
  block_shampoo(config).stagger = true;
  StepLab lab(config, ParameterLayout({{"w", {256, 5 * 256}, 0, 1}}));
  EXPECT_NO_THROW(lab.run(3));
}

// Between two refreshes all updates are alike, so a period of f updates has the mean exactly.
TEST(BlockShampoo, PlannedFlopsAreTheMeanOfUpdatesAfterTheStart) {
  for (const InverseRootConfig& method : kMethods) {
    for (const bool stagger : {false, true}) {
      for (const int64_t start : {1, 4}) {
        OptimizerConfig config = small_dash();
        block_shampoo(config).inverse_root = method;
        block_shampoo(config).frequency = 3;
        block_shampoo(config).stagger = stagger;
        block_shampoo(config).start = start;
        StepLab lab(config);
        double all = 0;
        for (int64_t t = 1; t <= start; ++t) lab.flops_of_update(t);
        for (int64_t t = start + 1; t <= start + 3; ++t) all += lab.flops_of_update(t);
        EXPECT_NEAR(lab.planned_flops(), all / 3, 1e-9 * all)
            << enum_name(method.type()) << ", start " << start << ", stagger " << stagger;
      }
    }
  }
}

TEST(BlockShampoo, BeforeTheStartItIsTheGraftingRule) {
  OptimizerConfig dash = small_dash(), adamw("adamw");
  block_shampoo(dash).start = 100;
  StepLab a(dash), b(adamw);
  a.run(5);
  b.run(5);
  EXPECT_LT(relative_difference(a.weights(), b.weights()), 1e-6);
}

TEST(BlockShampoo, VectorsByAdamwHaveNoFactors) {
  OptimizerConfig dash = small_dash(), adamw("adamw");
  block_shampoo(dash).vectors = VectorRule::adamw;
  StepLab a(dash), b(adamw);
  for (const Tensor& tensor : a.optimizer().state()) {
    EXPECT_EQ(tensor.name.text().find("L of c"), std::string::npos) << tensor.name.text();
  }
  a.run(5);
  b.run(5);
  for (const size_t vector : {2u, 6u}) {
    EXPECT_LT(relative_difference(a.weights(vector), b.weights(vector)), 1e-6);
  }
}

TEST(BlockShampoo, GraftingGivesEachBlockTheSizeOfTheRulesUpdate) {
  const ParameterLayout square({{"w", {4, 4}, 0, 1}});
  const auto moved = [&](OptimizerConfig config) {
    StepLab lab(config, square);
    const std::vector<float> start = lab.weights();
    lab.run(1);
    const std::vector<float> step = movement(start, lab.weights());
    const std::vector<double> wide(step.begin(), step.end());
    return norm(wide.data(), std::ssize(wide));
  };
  for (const Grafting rule : {Grafting::adam, Grafting::adagrad, Grafting::sgd}) {
    OptimizerConfig shampoo = small_dash(), plain = small_dash();
    block_shampoo(shampoo).grafting = block_shampoo(plain).grafting = rule;
    block_shampoo(plain).start = 100;
    EXPECT_NEAR(moved(shampoo), moved(plain), 1e-5 * moved(plain)) << enum_name(rule);
  }
  // Without grafting, of one update: L = 0.05·G·Gᵀ, so L^(-1/4)·G·R^(-1/4) is orthogonal times
  // 0.05^(-1/2), of norm sqrt(4/0.05).
  OptimizerConfig none = small_dash();
  block_shampoo(none).grafting = Grafting::none;
  block_shampoo(none).inverse_root.method = EvdConfig{.ridge = 0};
  EXPECT_NEAR(moved(none), 0.1 * std::sqrt(4 / 0.05), 2e-3);
}

TEST(BlockShampoo, DecaysMatricesAndOnlyOnRequestVectors) {
  for (const bool vectors : {false, true}) {
    OptimizerConfig plain = small_dash(), decayed = small_dash();
    block_shampoo(decayed).weight_decay = 0.5;
    block_shampoo(decayed).decay_vectors = vectors;
    StepLab a(plain), b(decayed);
    const std::vector<float> start = a.weights();
    a.run(1);
    b.run(1);
    for (size_t parameter = 0; parameter < a.layout().parameters().size(); ++parameter) {
      const Parameter& p = a.layout().parameters()[parameter];
      for (int64_t i = 0; i < p.elements(); ++i) {
        const auto at = static_cast<size_t>(p.offset + i);
        const double decay = p.is_matrix() || vectors ? 0.1 * 0.5 : 0.0;
        EXPECT_NEAR(a.weights()[at] - b.weights()[at], decay * start[at], 1e-6) << p.name;
      }
    }
  }
}

TEST(BlockShampoo, LearningRateMultipliers) {
  for (const std::string type : {"dash", "adamw"}) {
    OptimizerConfig plain(type);
    set_keys(plain, R"({"block_size": 4})");
    OptimizerConfig scaled = plain;
    set_keys(scaled, R"({"groups": [{"match": "*", "lr_scale": 0.5},
                                     {"match": "b", "lr_scale": 0},
                                     {"match": ["c", "d"], "lr_scale": 2}]})");
    StepLab a(plain), b(scaled);
    const auto start = [&](size_t p) { return StepLab(plain).weights(p); };
    a.run(1);
    b.run(1);
    EXPECT_EQ(b.weights(1), start(1));
    for (const auto& [parameter, factor] :
         {std::pair(0u, 0.5f), {2u, 2.0f}, {3u, 2.0f}, {4u, 0.5f}}) {
      std::vector<float> expected = movement(start(parameter), a.weights(parameter));
      for (float& x : expected) x *= factor;
      EXPECT_LT(relative_difference(movement(start(parameter), b.weights(parameter)), expected),
                1e-5);
    }
  }
}

// As older configs have them.
TEST(BlockShampoo, RulesOfLearningRatesAreGroups) {
  const OptimizerConfig rules = optimizer_config(R"({"lr_scale": ["*=0.5", "b=0"]})");
  const OptimizerConfig groups = optimizer_config(
      R"({"groups": [{"match": "*", "lr_scale": 0.5}, {"match": "b", "lr_scale": 0}]})");
  const auto text = [](OptimizerConfig config) {
    return write_config([&](Schema& s) { config.describe(s); }).dump();
  };
  EXPECT_EQ(text(rules), text(groups));
  for (const char* rule : {"z=1", "a", "a=", "a=x", "a=1x", "a=-1", "a=inf", "a=1e400", "a=1e-400",
                           "a=nan", "a=-inf", "a=2e6"}) {
    const bool matches = rule[0] != 'z';
    expect_bad_input(
        {matches ? "optimizer.lr_scale" : "optimizer.groups", matches ? rule : "\"z\""},
        [&] { StepLab{optimizer_config(fmt::format(R"({{"lr_scale": ["{}"]}})", rule))}; });
  }
}

TEST(BlockShampoo, StateIsNamedByBlockWhateverTheStacking) {
  std::set<std::string> reference;
  for (const Stacking stacking : {Stacking::rank, Stacking::layer, Stacking::block}) {
    OptimizerConfig config = small_dash();
    block_shampoo(config).stacking = stacking;
    StepLab lab(config);
    std::set<std::string> names;
    int64_t bytes = 0;
    for (const Tensor& tensor : lab.optimizer().state()) {
      EXPECT_TRUE(names.insert(tensor.name).second) << tensor.name.text();
      bytes += tensor.bytes();
    }
    if (reference.empty()) reference = names;
    EXPECT_EQ(names, reference);
    int64_t planned = 0;
    for (const StackPlan& line : lab.optimizer().plan()) planned += line.state_bytes;
    EXPECT_EQ(planned, bytes - 4 * std::ssize(lab.root_norms()));  // failures aside
  }
}

TEST(BlockShampoo, MethodsThatCannotDoAnExponentSaySo) {
  OptimizerConfig config = small_dash();
  block_shampoo(config).exponent = 0.4;
  EXPECT_THROW(StepLab{config}, Error);
  block_shampoo(config).inverse_root.method = EvdConfig{};
  EXPECT_NO_THROW(StepLab{config});
}

}  // namespace
}  // namespace dashlm::testing
