#include "model/model_config.h"

#include "support/expect_error.h"

namespace dashlm::testing {
namespace {

ModelConfig resolved(ModelConfig config) {
  config.resolve();
  return config;
}

TEST(ModelConfig, FillsInDefaults) {
  const ModelConfig big = resolved({.n_layer = 16, .d_model = 2048, .n_head = 16});
  EXPECT_EQ(big.n_kv_head, 16);
  EXPECT_EQ(big.d_ff, 5632);
  EXPECT_EQ(big.head_dim(), 128);
  EXPECT_EQ(big.qkv_width(), 3 * 2048);
  // floor(8/3 · d) rounded up to a multiple of 256, of the published sizes.
  EXPECT_EQ(resolved({.d_model = 512}).d_ff, 1536);
  EXPECT_EQ(resolved({.d_model = 640}).d_ff, 1792);
  EXPECT_EQ(resolved({.d_model = 768}).d_ff, 2048);
  EXPECT_EQ(resolved({.d_model = 96}).d_ff, 256);  // exactly 256: not rounded up again
  EXPECT_EQ(resolved({.d_model = 100, .n_head = 2}).d_ff, 512);  // floor(266.67)
}

TEST(ModelConfig, KeepsWhatIsGiven) {
  const ModelConfig config = resolved({.d_model = 48, .n_head = 6, .n_kv_head = 2, .d_ff = 77});
  EXPECT_EQ(config.n_kv_head, 2);
  EXPECT_EQ(config.d_ff, 77);
  EXPECT_EQ(config.qkv_heads(), 10);
  EXPECT_EQ(config.qkv_width(), 80);
}

TEST(ModelConfig, RefusesWhatDoesNotFit) {
  expect_bad_input({"model.n_head = 5", "model.d_model = 64"},
                   [] { resolved({.d_model = 64, .n_head = 5}); });
  expect_bad_input({"model.d_model / model.n_head = 3", "even"},
                   [] { resolved({.d_model = 12, .n_head = 4}); });
  expect_bad_input({"model.n_kv_head = 3", "model.n_head = 4"},
                   [] { resolved({.d_model = 64, .n_head = 4, .n_kv_head = 3}); });
  expect_bad_input({"model.n_kv_head = 8", "model.n_head = 4"},
                   [] { resolved({.d_model = 64, .n_head = 4, .n_kv_head = 8}); });
}

}  // namespace
}  // namespace dashlm::testing
