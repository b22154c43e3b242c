#include "model/parameters.h"

#include <set>

#include "support/lab.h"
#include "support/tiny_llama.h"

namespace dashlm::testing {
namespace {

ModelConfig resolved(ModelConfig config) {
  config.resolve();
  return config;
}

TEST(ParameterLayout, Llama953M) {
  const ModelConfig config =
      resolved({.n_layer = 16, .d_model = 2048, .n_head = 16, .vocab_size = 32000});
  const ParameterLayout layout = llama_parameters(config);
  EXPECT_EQ(layout.elements(), 953'223'168);
  EXPECT_EQ(layout.parameters().size(), 3 + 16 * 7);
}

TEST(ParameterLayout, NamesShapesAndContiguousOffsets) {
  const ModelConfig config = resolved(
      {.n_layer = 2, .d_model = 12, .n_head = 3, .n_kv_head = 1, .d_ff = 7, .vocab_size = 5});
  const ParameterLayout layout = llama_parameters(config);
  const std::vector<std::pair<std::string, Shape>> expected = {
      {"embed", {5, 12}},
      {"layer0.attn_norm", {12}},
      {"layer0.qkv", {20, 12}},
      {"layer0.attn_out", {12, 12}},
      {"layer0.mlp_norm", {12}},
      {"layer0.gate", {7, 12}},
      {"layer0.up", {7, 12}},
      {"layer0.down", {12, 7}},
      {"layer1.attn_norm", {12}},
      {"layer1.qkv", {20, 12}},
      {"layer1.attn_out", {12, 12}},
      {"layer1.mlp_norm", {12}},
      {"layer1.gate", {7, 12}},
      {"layer1.up", {7, 12}},
      {"layer1.down", {12, 7}},
      {"final_norm", {12}},
      {"lm_head", {5, 12}},
  };
  ASSERT_EQ(layout.parameters().size(), expected.size());
  int64_t offset = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Parameter& p = layout.parameters()[i];
    EXPECT_EQ(p.name, expected[i].first);
    EXPECT_EQ(p.shape, expected[i].second) << p.name << p.shape.text();
    EXPECT_EQ(p.offset, offset) << p.name;
    EXPECT_EQ(p.is_matrix(), p.shape.rank() == 2);
    offset += p.elements();
  }
  EXPECT_EQ(layout.elements(), offset);
}

TEST(ParameterLayout, ViewsCoverEveryElementOnce) {
  for (const bool tied : {false, true}) {
    const ModelConfig config = resolved({.n_layer = 2,
                                         .d_model = 8,
                                         .n_head = 2,
                                         .d_ff = 5,
                                         .vocab_size = 6,
                                         .tie_embeddings = tied});
    const ParameterLayout layout = llama_parameters(config);
    Lab lab;
    const Tensor flat = lab.normal("flat", {layout.elements()});
    const LlamaTensors t = llama_tensors(layout, config, flat);
    std::vector<Tensor> views{t.embed, t.final_norm};
    for (const LayerTensors& l : t.layers) {
      EXPECT_EQ(l.gate_up.shape, (Shape{10, 8}));
      views.insert(views.end(), {l.attn_norm, l.qkv, l.attn_out, l.mlp_norm, l.gate_up, l.down});
    }
    if (tied) {
      EXPECT_EQ(t.lm_head.data, t.embed.data);
      EXPECT_EQ(layout.parameters().back().name, "final_norm");
    } else {
      views.push_back(t.lm_head);
    }
    std::set<const float*> seen;
    for (const Tensor& view : views) {
      for (int64_t i = 0; i < view.elements(); ++i) EXPECT_TRUE(seen.insert(view.f32() + i).second);
    }
    EXPECT_EQ(static_cast<int64_t>(seen.size()), flat.elements());
    EXPECT_EQ(*seen.begin(), flat.f32());
  }
}

// The mean of n normal numbers has deviation std/sqrt(n) and their deviation std/sqrt(2n): five of
// those is one failure in a million, and the numbers never change.
TEST(InitializeParameters, HasTheDeviationsOfTheModel) {
  const ModelConfig config = resolved({.n_layer = 3, .d_model = 64, .vocab_size = 200});
  const ParameterLayout layout = llama_parameters(config);
  std::vector<float> values(static_cast<size_t>(layout.elements()));
  initialize_all(layout, 42, values.data());
  for (const Parameter& p : layout.parameters()) {
    const float* x = values.data() + p.offset;
    const auto n = static_cast<double>(p.elements());
    if (!p.is_matrix()) {
      EXPECT_TRUE(std::all_of(x, x + p.elements(), [](float v) { return v == 1; })) << p.name;
      continue;
    }
    const bool residual = p.name.ends_with("attn_out") || p.name.ends_with("down");
    const double expected = residual ? 0.02 / std::sqrt(2.0 * 3) : 0.02;
    double total = 0, squares = 0;
    for (int64_t i = 0; i < p.elements(); ++i) {
      total += static_cast<double>(x[i]);
      squares += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
    EXPECT_NEAR(total / n, 0, 5 * expected / std::sqrt(n)) << p.name;
    EXPECT_NEAR(std::sqrt(squares / n), expected, 5 * expected / std::sqrt(2 * n)) << p.name;
  }
}

TEST(InitializeParameters, NoDeviationMeansZeroMatricesAndNormsOfOne) {
  const ParameterLayout layout = llama_parameters(
      resolved({.n_layer = 1, .d_model = 8, .n_head = 2, .vocab_size = 5, .init_std = 0}));
  std::vector<float> values(static_cast<size_t>(layout.elements()), 7);
  initialize_all(layout, 1, values.data());
  for (const Parameter& p : layout.parameters()) {
    EXPECT_EQ(std::vector<float>(values.data() + p.offset, values.data() + p.offset + p.elements()),
              std::vector<float>(static_cast<size_t>(p.elements()), p.is_matrix() ? 0.0f : 1.0f))
        << p.name;
  }
}

// The matrix is large enough to be cut between threads, and not in equal parts.
TEST(InitializeParameters, IsAPlainLoopWhateverTheNumberOfThreads) {
  const Parameter matrix{"matrix", Shape{331, 307}, 0, 0.02};
  const uint64_t seed = 42, index = 3;
  const CounterRandom random(seed, Purpose::weight_init, index);
  std::vector<float> expected;
  for (uint64_t i = 0; i < static_cast<uint64_t>(matrix.elements()); ++i) {
    expected.push_back(static_cast<float>(matrix.init_std * random.normal(i)));
  }
  for (const int threads : {1, 2, 5}) {
    const ThreadScope scope(threads);
    std::vector<float> values(expected.size());
    const std::span<float> all(values), head = all.first(70001), tail = all.subspan(70001);
    initialize_parameter(matrix, index, seed, 0, head);
    initialize_parameter(matrix, index, seed, 70001, tail);
    EXPECT_TRUE(values == expected) << threads << " threads";
  }
}

TEST(InitializeParameters, DependsOnTheSeedAndNothingElse) {
  const ModelConfig config = resolved({.n_layer = 1, .d_model = 32, .vocab_size = 50});
  const ParameterLayout layout = llama_parameters(config);
  const auto draw = [&](uint64_t seed, int threads) {
    const ThreadScope scope(threads);
    std::vector<float> values(static_cast<size_t>(layout.elements()));
    initialize_all(layout, seed, values.data());
    return values;
  };
  const std::vector<float> first = draw(1, 1);
  for (const int threads : {2, 3, 5}) EXPECT_EQ(draw(1, threads), first);
  EXPECT_NE(draw(2, 1), first);
  // Two matrices of one shape start out different.
  const auto named = [&](const std::string& name) {
    for (const Parameter& p : layout.parameters()) {
      if (p.name == name) return first.begin() + p.offset;
    }
    return first.end();
  };
  EXPECT_NE(*named("layer0.gate"), *named("layer0.up"));
  EXPECT_NE(*named("embed"), *named("lm_head"));
}

}  // namespace
}  // namespace dashlm::testing
