#include "model/hf_format.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace dashlm::testing {
namespace {

// transformers takes 1 and 2 for what is not said.
TEST(HfConfig, NamesTheTokensThatBeginAndEndATextOrSaysThatThereAreNone) {
  const ModelConfig config = {.n_layer = 1, .d_model = 16, .n_head = 2};
  const auto json = [&](int32_t bos, int32_t eos) {
    return nlohmann::json::parse(hf_config_text(config, DType::f32, bos, eos));
  };
  EXPECT_EQ(json(7, 0)["bos_token_id"], 7);
  EXPECT_EQ(json(7, 0)["eos_token_id"], 0);
  EXPECT_TRUE(json(-1, -1).at("bos_token_id").is_null());
  EXPECT_TRUE(json(-1, -1).at("eos_token_id").is_null());
}

}  // namespace
}  // namespace dashlm::testing
