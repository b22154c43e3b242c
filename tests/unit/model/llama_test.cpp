// What different ways of running one model have in common.
#include "model/llama.h"

#include "ops/model/cross_entropy.h"
#include "support/reference.h"
#include "support/tiny_llama.h"

namespace dashlm::testing {
namespace {

ModelConfig small(bool tied = false) {
  return {.n_layer = 3,
          .d_model = 24,
          .n_head = 4,
          .n_kv_head = 2,
          .d_ff = 37,
          .vocab_size = 53,
          .seq_len = 90,
          .tie_embeddings = tied,
          .init_std = 0.2};
}

double relative_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

// The same sequences from `begin` on.
Batch part(const Batch& batch, int64_t begin, int64_t count) {
  const int64_t length = batch.shape.length;
  return {{count, length},
          batch.tokens.rows(begin * length, count * length),
          batch.targets.rows(begin * length, count * length)};
}

TEST(Llama, RecomputationChangesNoBitAndTakesLessMemory) {
  for (const bool tied : {false, true}) {
    TinyLlama llama(small(tied));
    const Batch batch = llama.batch(3, 70);
    const auto losses = llama.forward_backward(batch, 0.01f);
    const auto gradients = TinyLlama::floats(llama.gradients());
    const int64_t bytes = llama.last_activation_bytes();
    llama.clear_gradients();
    EXPECT_EQ(llama.forward_backward(batch, 0.01f, true), losses);
    EXPECT_EQ(TinyLlama::floats(llama.gradients()), gradients);
    EXPECT_LT(llama.last_activation_bytes(), bytes);
  }
}

TEST(Llama, SameBitsForAnyNumberOfThreads) {
  TinyLlama llama(small());
  const Batch batch = llama.batch(3, 70);
  std::vector<float> losses, gradients;
  for (const int threads : {1, 2, 3, 5}) {
    const ThreadScope scope(threads);
    llama.clear_gradients();
    const auto got = llama.forward_backward(batch, 0.01f);
    if (losses.empty()) {
      losses = got;
      gradients = TinyLlama::floats(llama.gradients());
    }
    EXPECT_EQ(got, losses) << threads << " threads";
    EXPECT_EQ(TinyLlama::floats(llama.gradients()), gradients) << threads << " threads";
  }
}

TEST(Llama, EvaluationHasTheLossesOfTraining) {
  for (const int64_t length : {1, 33, 70}) {
    TinyLlama llama(small());
    const Batch batch = llama.batch(2, length);
    batch.targets.i32()[0] = kIgnoredTarget;
    EXPECT_EQ(llama.evaluate(batch), llama.forward_backward(batch, 0.01f));
  }
}

// The sum over micro-batches is taken in another order than within one batch: a relative error of a
// few roundoffs of the gradient's norm.
TEST(Llama, MicroBatchesAddUpToTheGradientOfTheBatch) {
  for (const bool tied : {false, true}) {
    TinyLlama llama(small(tied));
    const Batch batch = llama.batch(6, 31);
    const auto losses = llama.forward_backward(batch, 0.01f);
    const auto whole = TinyLlama::floats(llama.gradients());
    for (const int64_t size : {1, 2, 3}) {
      llama.clear_gradients();
      std::vector<float> parts;
      for (int64_t begin = 0; begin < 6; begin += size) {
        const auto some = llama.forward_backward(part(batch, begin, size), 0.01f);
        parts.insert(parts.end(), some.begin(), some.end());
      }
      EXPECT_LE(relative_difference(parts, losses), 4 * kRoundoff);
      EXPECT_LE(relative_difference(TinyLlama::floats(llama.gradients()), whole), 16 * kRoundoff);
    }
  }
}

// 33,000 tokens: the head works on 128 positions at a time, so 140 positions are two chunks and
// each 70 alone are one. The same losses must come from logits that were never cut.
TEST(Llama, TheHeadIsIndependentOfItsChunks) {
  ModelConfig config = small();
  config.n_layer = 1;
  config.d_model = 8;
  config.vocab_size = 33000;
  TinyLlama llama(config);
  const Batch batch = llama.batch(2, 70);
  batch.targets.i32()[130] = kIgnoredTarget;
  const auto losses = llama.forward_backward(batch, 0.01f);
  EXPECT_EQ(llama.evaluate(batch), losses);
  const auto whole = TinyLlama::floats(llama.gradients());

  const reference::Ints targets(batch.targets.i32(), batch.targets.i32() + 140);
  const Doubles expected = reference::cross_entropy(values(llama.logits(batch)), targets, 1).losses;
  // The float32 sum of 33,000 exponentials, and other tiles in the product for the logits.
  for (size_t i = 0; i < 140; ++i) {
    EXPECT_NEAR(static_cast<double>(losses[i]), expected[i], 40 * kRoundoff) << i;
  }

  llama.clear_gradients();
  for (int64_t i = 0; i < 2; ++i) llama.forward_backward(part(batch, i, 1), 0.01f);
  EXPECT_LE(relative_difference(TinyLlama::floats(llama.gradients()), whole), 16 * kRoundoff);
}

// The prompt at once, then token by token; each step's logits are a row of the whole's. Either is
// within 40 roundoffs of the exact ones (gradients_test.cpp), so they differ by sqrt(2) times that.
TEST(Llama, DecodingWithACacheGivesTheLogitsOfTheWhole) {
  constexpr int64_t kLength = 70;
  for (const int64_t prompt : {int64_t{1}, int64_t{66}, kLength}) {
    TinyLlama llama(small());
    const Batch batch = llama.batch(1, kLength);
    const Tensor whole = llama.logits(batch);
    Arena cache_arena(llama.lab().device(), "cache");
    KeyValueCache::take(cache_arena, llama.config(), DType::f32, kLength);
    cache_arena.commit();
    auto cache = KeyValueCache::take(cache_arena, llama.config(), DType::f32, kLength);
    const Tensor logits = llama.lab().output("logits", {1, llama.config().vocab_size});
    const ThreadScope one(1);  // many tiny steps, which more threads only slow down
    for (int64_t past = 0; past < kLength;) {
      const int64_t count = past == 0 ? prompt : 1;
      KeyValueCache before = cache;
      llama.run([&](Context& context, Arena& arena) {
        cache = before;  // a planning run counts its positions too
        llama.model().decode(context, arena, cache, batch.tokens.rows(past, count), logits);
      });
      past += count;
      EXPECT_EQ(cache.length, past);
      const Doubles expected = values(whole.rows(past - 1, 1));
      const double size = norm(expected.data(), whole.dim(1)) / std::sqrt(whole.dim(1));
      expect_within(logits, expected, Doubles(expected.size(), 60 * kRoundoff * size));
    }
    llama.run([&](Context& context, Arena& arena) {
      expect_runtime_failure({"does not fit"}, [&] {
        llama.model().decode(context, arena, cache, batch.tokens.rows(0, 1), logits);
      });
    });
  }
}

// One byte less than planned, and the run must fail: the plan is what a run takes.
TEST(Llama, TakesExactlyTheActivationsThatWerePlanned) {
  for (const bool recompute : {false, true}) {
    TinyLlama llama(small());
    const Batch batch = llama.batch(2, 33);
    llama.forward_backward(batch, 1.0f, recompute);
    const int64_t peak = llama.last_activation_bytes();
    const LlamaTensors gradients = llama_tensors(llama.layout(), llama.config(), llama.gradients());
    const Tensor losses = llama.lab().output("losses", {batch.shape.tokens()});
    Arena scratch(llama.lab().device(), "scratch"), shorter(llama.lab().device(), "short arena");
    scratch.take("plenty", {1 << 22});
    scratch.commit();
    shorter.take("all but the last", {peak - 64}, DType::u8);
    shorter.commit();
    Context context{llama.lab().device(), scratch};
    expect_runtime_failure({"short arena"}, [&] {
      llama.model().forward_backward(context, {shorter, recompute}, batch.tokens, batch.targets,
                                     batch.shape, 1.0f, gradients, losses);
    });
  }
}

// A NaN in any weight must show in the loss, since the trainer skips steps by it.
TEST(Llama, NanWeightsReachTheLosses) {
  TinyLlama llama(small());
  const Batch batch = llama.batch(1, 5);
  for (const Parameter& p : llama.layout().parameters()) {
    // A token that occurs, for the embedding.
    const int64_t row = p.name == "embed" ? batch.tokens.i32()[0] : 0;
    float& weight = llama.weights().f32()[p.offset + row * (p.is_matrix() ? p.shape[1] : 0)];
    const float before = weight;
    weight = kNaN;
    const auto losses = llama.evaluate(batch);
    EXPECT_TRUE(std::any_of(losses.begin(), losses.end(), [](float x) { return std::isnan(x); }))
        << p.name;
    weight = before;
  }
}

}  // namespace
}  // namespace dashlm::testing
