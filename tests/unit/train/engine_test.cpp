// That a training step gives its work away and looks at the device only for what it must know.
#include "train/engine.h"

#include <gtest/gtest.h>

#include "support/counting_device.h"
#include "support/optimizer_settings.h"

namespace dashlm::testing {
namespace {

RunConfig config_of(const std::string& optimizer, ModelPrecision precision) {
  RunConfig config;
  config.model = {.n_layer = 2, .d_model = 16, .n_head = 2, .vocab_size = 31, .seq_len = 8};
  config.train.batch = 5;
  config.train.micro_batch = 2;
  config.train.precision = precision;
  config.optimizer = OptimizerConfig(optimizer);
  // Frozen gradients are cleared in between.
  set_keys(config.optimizer, R"({"block_size": 8, "groups": [{"match": "embed", "lr_scale": 0}]})");
  config.resolve();
  return config;
}

Batch batch_of(const RunConfig& config) {
  Batch batch{config.train.batch, config.model.seq_len, {}, {}, {}, 0};
  for (int32_t i = 0; i < config.train.batch * config.model.seq_len; ++i) {
    batch.tokens.push_back(i * i % 31);
    batch.targets.push_back((i + 1) * (i + 1) % 31);
  }
  return batch;
}

class EngineSteps : public ::testing::TestWithParam<std::tuple<const char*, ModelPrecision>> {};

// The loss and the norm, which decide about clipping and skipping, with one download; and whether
// an inverse root failed, with another.
TEST_P(EngineSteps, LookAtTheDeviceOnceForThePassesAndOnceForTheRoots) {
  const auto [optimizer, precision] = GetParam();
  const RunConfig config = config_of(optimizer, precision);
  CountingDevice device;
  LoneCommunicator alone;
  Engine engine(device, config, alone);
  engine.allocate();
  engine.initialize();
  const Batch batch = batch_of(config);
  double first = 0, last = 0;
  for (int64_t step = 1; step <= 3; ++step) {
    device.forget();
    engine.forward_backward(batch);
    EXPECT_EQ(device.downloads, 0);
    last = engine.reduce().loss;
    EXPECT_EQ(device.downloads, 1);
    if (step == 1) first = last;
    engine.update({.update = step, .lr = 0.01});
    engine.gather();
    EXPECT_EQ(device.downloads, std::string(optimizer) == "adamw" ? 1 : 2);
    EXPECT_EQ(device.uploads, 0);
    EXPECT_EQ(device.synchronizations, 0);
  }
  EXPECT_LT(last, first);
}

INSTANTIATE_TEST_SUITE_P(All, EngineSteps,
                         ::testing::Combine(::testing::Values("adamw", "dash"),
                                            ::testing::Values(ModelPrecision::fp32,
                                                              ModelPrecision::bf16)),
                         [](const auto& test) {
                           return std::string(std::get<0>(test.param)) + "_" +
                                  enum_name(std::get<1>(test.param));
                         });

}  // namespace
}  // namespace dashlm::testing
