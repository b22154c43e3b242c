// A small training run in a temporary directory, driven through the `dashlm` program.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "support/process.h"

namespace dashlm::testing {

using Json = nlohmann::ordered_json;

class RunTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string out() const { return path("run"); }

  // Raw uint16 tokens that a model can learn: a noisy walk over the vocabulary.
  void write_tokens(const std::string& name, int64_t count, uint64_t seed, int64_t vocab = 61);
  void write_file(const std::string& name, const std::string& content) const;
  std::string read_file(const std::string& name) const;

  // The default run: 24 steps on three shards of which an epoch takes about nine steps, with a
  // checkpoint every five steps.
  Json default_config() const;
  std::string write_config(const Json& config, const std::string& name = "config.json") const;

  // dashlm train on the default config, with these arguments added.
  std::vector<std::string> train_command(const std::vector<std::string>& extra = {}) const;
  ProcessResult train(const std::vector<std::string>& extra = {}) const;
  ProcessResult dashlm(const std::vector<std::string>& arguments) const;

  // In the environment of a process to be: OpenBLAS seems to choose its kernels for Prescott by
  // itself (support/fake_openblas_core.cpp); `core_type`, if not null, is the user's own wish.
  static void fake_openblas_core(const char* core_type = nullptr);

  // Lines of metrics.jsonl of one kind.
  static std::vector<Json> metrics(const std::string& run, const std::string& kind);
  // (step, loss, grad_norm) of every training step, as text that shows every bit.
  static std::vector<std::string> losses(const std::string& run);
  std::vector<std::string> checkpoints(const std::string& run) const;

  std::filesystem::path directory_;
};

}  // namespace dashlm::testing
