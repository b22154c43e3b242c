// The plan of a step, against arithmetic and against what an engine then takes.
#include "train/step_plan.h"

#include <gtest/gtest.h>

#include <numeric>

#include "model/parameters.h"
#include "support/counting_device.h"
#include "support/optimizer_settings.h"
#include "train/engine.h"

namespace dashlm::testing {
namespace {

RunConfig small_config() {
  RunConfig config;
  config.model = {.n_layer = 2, .d_model = 16, .n_head = 2, .vocab_size = 31, .seq_len = 8};
  config.train.batch = 5;
  config.train.micro_batch = 2;
  set_keys(config.optimizer, R"({"type": "dash", "block_size": 8})");
  config.resolve();
  return config;
}

// What ranks own adds up to the model; what they send, to what each of them lacks.
TEST(StepPlan, RanksShareTheModel) {
  const RunConfig config = small_config();
  CountingDevice device;
  const StepPlan alone = plan_step(device, config);
  const int64_t parameters = llama_parameters(config.model).elements();
  EXPECT_EQ(alone.parameters, parameters);
  EXPECT_EQ(alone.own_parameters, parameters);
  EXPECT_EQ(alone.bytes_sent, 0);
  EXPECT_EQ(alone.memory.shard + alone.memory.buckets, 0);
  for (const int ranks : {2, 3, 8}) {
    int64_t own = 0, blocks = 0, sent = 0, state = 0;
    for (int rank = 0; rank < ranks; ++rank) {
      const StepPlan plan = plan_step(device, config, {rank, ranks});
      EXPECT_EQ(plan.parameters, parameters);
      EXPECT_EQ(std::ssize(plan.cost_by_rank), ranks);
      own += plan.own_parameters;
      blocks += plan.own_blocks;
      sent += plan.bytes_sent;
      for (const StackPlan& stack : plan.stacks) state += stack.state_bytes;
    }
    EXPECT_EQ(own, parameters);
    EXPECT_EQ(blocks, alone.own_blocks);
    EXPECT_EQ(sent, (ranks - 1) * parameters * 8);  // fp32 gradients there, fp32 weights back
    const auto add = [](int64_t sum, const StackPlan& stack) { return sum + stack.state_bytes; };
    EXPECT_EQ(state, std::accumulate(alone.stacks.begin(), alone.stacks.end(), int64_t{0}, add));
  }
}

TEST(StepPlan, MicroBatchIsAtMostTheShareOfARank) {
  CountingDevice device;
  EXPECT_EQ(plan_step(device, small_config()).micro_batch, 2);
  EXPECT_EQ(plan_step(device, small_config(), {0, 5}).micro_batch, 1);
}

// 5 sequences: two micro-batches of two and one of one. The backward pass is twice the forward.
TEST(StepPlan, CountsTheWorkOfAStep) {
  const RunConfig config = small_config();
  CountingDevice device;
  const StepPlan plan = plan_step(device, config);
  EXPECT_GT(plan.update_flops, 0);
  EXPECT_NEAR(plan.flops, 5 * plan.sequence_flops + plan.update_flops, 1e-9 * plan.flops);
  RunConfig adamw = config;
  adamw.optimizer = OptimizerConfig("adamw");
  EXPECT_EQ(plan_step(device, adamw).sequence_flops, plan.sequence_flops);
  EXPECT_LT(plan_step(device, adamw).update_flops, plan.update_flops);
}

TEST(StepPlan, IsThatOfTheEngine) {
  const RunConfig config = small_config();
  CountingDevice device;
  LoneCommunicator alone;
  const Engine engine(device, config, alone);
  const StepPlan plan = plan_step(device, config);
  EXPECT_EQ(engine.plan().memory.total(), plan.memory.total());
  EXPECT_EQ(engine.plan().flops, plan.flops);
}

}  // namespace
}  // namespace dashlm::testing
