// Settings of runs that older versions began.
#include "train/run_config.h"

#include <gtest/gtest.h>

#include "config/config.h"

namespace dashlm::testing {
namespace {

Json completed(const char* optimizer) {
  Json settings = {{"optimizer", Json::parse(optimizer)}};
  complete_older_settings(settings);
  return settings["optimizer"];
}

TEST(OlderSettings, MeanWhatWasDoneThen) {
  const Json shampoo = completed(R"({"type": "shampoo", "inverse_root": {"type": "evd"}})");
  EXPECT_EQ(shampoo["decay_in_momentum"], false);
  EXPECT_EQ(shampoo["inverse_root"]["rank_rtol"], 0.0);
  const Json dash = completed(R"({"type": "dash", "inverse_root": {"type": "evd"}})");
  EXPECT_FALSE(dash.contains("decay_in_momentum"));
  EXPECT_EQ(dash["inverse_root"]["rank_rtol"], 0.0);
}

TEST(OlderSettings, LeaveAloneWhatIsSaidOrHasNoSuchKey) {
  for (const char* said :
       {R"({"type": "shampoo", "decay_in_momentum": true,
            "inverse_root": {"type": "evd", "rank_rtol": 1e-5}})",
        R"({"type": "dash", "inverse_root": {"type": "newton_db"}})", R"({"type": "adamw"})"}) {
    EXPECT_EQ(completed(said), Json::parse(said)) << said;
  }
}

}  // namespace
}  // namespace dashlm::testing
