#include "device/gpu_models.h"

#include <gtest/gtest.h>

#include <string>

namespace dashlm::testing {
namespace {

TEST(GpuModels, AreKnownByTheNamesThatDriversGive) {
  const auto name_of = [](const char* card) {
    const GpuModel* model = gpu_model_of(card);
    return std::string(model ? model->name : "unknown");
  };
  EXPECT_EQ(name_of("NVIDIA A100-SXM4-80GB"), "A100");
  EXPECT_EQ(name_of("NVIDIA H100 80GB HBM3"), "H100");
  EXPECT_EQ(name_of("NVIDIA H200"), "H200");
  EXPECT_EQ(name_of("NVIDIA B200"), "B200");
  // Slower forms of the same chips, slices of them, and others: never a wrong rate.
  EXPECT_EQ(name_of("NVIDIA H100 PCIe"), "unknown");
  EXPECT_EQ(name_of("NVIDIA H100 NVL"), "unknown");
  EXPECT_EQ(name_of("NVIDIA A100-SXM4-80GB MIG 1g.10gb"), "unknown");
  EXPECT_EQ(name_of("NVIDIA GeForce RTX 4090"), "unknown");
}

}  // namespace
}  // namespace dashlm::testing
