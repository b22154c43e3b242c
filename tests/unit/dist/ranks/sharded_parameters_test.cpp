// A block's way from the backward pass to everybody's weights, against arithmetic without ranks.
#include "dist/sharded_parameters.h"

#include <unistd.h>

#include <filesystem>

#include "dist/ownership.h"
#include "support/step_lab.h"
#include "tensor/bf16.h"
#include "train/agreement.h"
#include "unit/dist/ranks/world.h"

namespace dashlm::testing {
namespace {

// Whole numbers, so that sums are exact in any order.
float gradient_of(int rank, int64_t step, int64_t element) {
  return static_cast<float>((rank + 1) * ((element * 7 + step) % 1000));
}

class Shards {
 public:
  explicit Shards(int64_t bucket_elements, DType type = DType::f32)
      : bucket_elements_(bucket_elements), type_(type) {
    std::vector<double> costs;
    for (const Block& block : cut_into_blocks(layout_, {.block_size = 4})) {
      places_.push_back(block.place);
      costs.push_back(static_cast<double>(block.place.elements()));
    }
    owners_ = share_out(costs, world().size());
    build();
    for (Arena* arena : {&memory_, &scratch_}) arena->commit();
    build();
    parameters_->initialize(context_);
    for (int64_t i = 0; i < layout_.elements(); ++i) {
      parameters_->staging().f32()[i] = static_cast<float>(i);
    }
    parameters_->adopt_weights(context_);
  }

  // weights -= gradient, of own blocks.
  void update() {
    const Tensor& own = parameters_->own_weights();
    for (int64_t i = 0; i < own.elements(); ++i) {
      own.f32()[i] -= parameters_->own_gradients().f32()[i];
    }
  }
  float weight(int64_t i) const {
    const Tensor& weights = parameters_->weights();
    return type_ == DType::f32 ? weights.f32()[i] : static_cast<float>(weights.as<Bf16>()[i]);
  }
  // As `weights` hold it.
  float rounded(float x) const { return type_ == DType::f32 ? x : static_cast<float>(Bf16(x)); }
  float* gradients() { return parameters_->gradients().f32(); }
  ShardedParameters& parameters() { return *parameters_; }
  Context& context() { return context_; }
  const ParameterLayout& layout() const { return layout_; }

 private:
  void build() {
    parameters_ = std::make_unique<ShardedParameters>(
        world().place(), &world(), layout_.elements(), type_, places_, owners_,
        ShardArenas{memory_, memory_, memory_, memory_}, bucket_elements_);
  }

  const int64_t bucket_elements_;
  const DType type_;
  ParameterLayout layout_ = awkward_parameters();
  std::vector<BlockPlace> places_;
  std::vector<int> owners_;
  std::unique_ptr<Device> device_ = open_device("cpu", 1);
  Arena memory_{*device_, "memory"}, scratch_{*device_, "scratch"};
  Context context_{*device_, scratch_};
  std::unique_ptr<ShardedParameters> parameters_;
};

// Some steps in which gradients become ready piece by piece, and weights are asked for piece by
// piece, in buckets of all sizes.
void expect_weights_of_one_rank(DType type) {
  for (const int64_t bucket_elements : {1, 30, 100, 0}) {
    Shards shards(bucket_elements, type);
    const int64_t elements = shards.layout().elements();
    std::vector<float> expected(static_cast<size_t>(elements));
    for (int64_t i = 0; i < elements; ++i) expected[static_cast<size_t>(i)] = static_cast<float>(i);
    const auto rank_sum = static_cast<float>(world().size() * (world().size() + 1) / 2);
    for (int64_t step = 0; step < 4; ++step) {
      for (int64_t i = 0; i < elements; ++i) {
        shards.gradients()[i] = gradient_of(world().rank(), step, i);
        expected[static_cast<size_t>(i)] -= rank_sum * gradient_of(0, step, i);
      }
      for (const int64_t begin : {elements, int64_t{200}, int64_t{117}, int64_t{0}}) {
        shards.parameters().gradients_complete(shards.context(), begin);
      }
      shards.parameters().wait_for_gradients(shards.context());
      shards.update();
      shards.parameters().start_gather(shards.context());
      for (const int64_t end : {int64_t{1}, int64_t{117}, elements}) {
        shards.parameters().need_weights(shards.context(), end);
        for (int64_t i = 0; i < end; ++i) {
          ASSERT_EQ(shards.weight(i), shards.rounded(expected[static_cast<size_t>(i)]))
              << "element " << i << ", step " << step << ", buckets of " << bucket_elements;
        }
      }
    }
  }
}

TEST(ShardedParameters, EveryRankEndsWithWhatOneRankWouldHave) {
  expect_weights_of_one_rank(DType::f32);
}

// Masters lose nothing: what every rank has is their rounded value.
TEST(ShardedParameters, WeightsMayBeRounded) {
  expect_weights_of_one_rank(DType::bf16);
}

// Each rank sends every gradient that is not its own once, and its own weights to each other rank.
void expect_least_traffic(DType type) {
  Shards shards(50, type);
  const int64_t own = shards.parameters().own_weights().elements();
  const int64_t before = world().bytes_sent();
  shards.parameters().wait_for_gradients(shards.context());
  shards.parameters().start_gather(shards.context());
  shards.parameters().need_weights(shards.context());
  const int64_t others = shards.layout().elements() - own;
  EXPECT_EQ(world().bytes_sent() - before, 4 * others + size_of(type) * own * (world().size() - 1));
  EXPECT_EQ(world().bytes_sent() - before, shards.parameters().bytes_per_step());
}

TEST(ShardedParameters, SendsNoMoreThanItMust) {
  expect_least_traffic(DType::f32);
  expect_least_traffic(DType::bf16);
}

TEST(Agreement, DifferentWeightsAreNoticedAndNamed) {
  Shards shards(0);
  const auto compare = [&] {
    require_same_weights(world(), *open_device("cpu", 1), shards.layout(),
                         shards.parameters().weights());
  };
  compare();
  const bool last = world().rank() == world().size() - 1;
  if (last) shards.parameters().weights().f32()[120] += 1.0f;  // in the second parameter
  try {
    compare();
    ADD_FAILURE() << "nobody noticed";
  } catch (const Error& e) {
    EXPECT_EQ(std::string(e.what()).find("b of rank " + std::to_string(world().size() - 1)), 0u)
        << e.what();
  }
}

TEST(Agreement, OtherFactsAreNoticedAndNamed) {
  const bool last = world().rank() == world().size() - 1;
  const auto message = [&](const Json& facts) -> std::string {
    try {
      require_agreement(world(), facts);
      return "";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ExitCode::bad_input);
      return e.what();
    }
  };
  EXPECT_EQ(message({{"data", 5}, {"config", {{"lr", 0.5}}}}), "");
  EXPECT_NE(message({{"data", last ? 6 : 5}}).find("data is 6 there and 5 here"),
            std::string::npos);
  const std::string text = message({{"config", {{"train", {{"lr", last ? 0.25 : 0.5}}}}}});
  EXPECT_NE(text.find("config.train.lr is 0.25 there"), std::string::npos) << text;
  EXPECT_NE(text.find("rank " + std::to_string(world().size() - 1)), std::string::npos) << text;
}

TEST(Agreement, ASharedDirectoryIsFoundAndLeftAsItWas) {
  const std::string shared = fmt::format("{}/dashlm-shared-{}", ::testing::TempDir(), ::getppid());
  if (world().rank() == 0) std::filesystem::create_directories(shared);
  world().barrier();
  require_shared_directory(world(), shared);
  EXPECT_TRUE(std::filesystem::is_empty(shared));
  world().barrier();
  if (world().rank() == 0) std::filesystem::remove_all(shared);
}

}  // namespace
}  // namespace dashlm::testing
