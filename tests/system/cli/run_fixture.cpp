#include "system/cli/run_fixture.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/random.h"

namespace dashlm::testing {
namespace fs = std::filesystem;

void RunTest::SetUp() {
  std::string name = (fs::temp_directory_path() / "dashlm-run-XXXXXX").string();
  ASSERT_NE(mkdtemp(name.data()), nullptr);
  directory_ = name;
  write_tokens("train_0.bin", 500, 1);
  write_tokens("train_1.bin", 333, 2);
  write_tokens("train_2.bin", 400, 3);
  write_tokens("val.bin", 300, 4);
  write_config(default_config());
}

void RunTest::TearDown() {
  fs::remove_all(directory_);
}

void RunTest::write_tokens(const std::string& name, int64_t count, uint64_t seed, int64_t vocab) {
  const CounterRandom random(seed, Purpose::test);
  std::vector<uint16_t> tokens(static_cast<size_t>(count));
  int64_t token = 0;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const bool jump = random.uniform(i) < 0.1;
    token = jump ? static_cast<int64_t>(random.below(static_cast<uint64_t>(vocab), i + (1u << 20)))
                 : (token + 1) % vocab;
    tokens[i] = static_cast<uint16_t>(token);
  }
  write_file(name, std::string(reinterpret_cast<const char*>(tokens.data()), 2 * tokens.size()));
}

void RunTest::write_file(const std::string& name, const std::string& content) const {
  std::ofstream(path(name), std::ios::binary) << content;
}

std::string RunTest::read_file(const std::string& name) const {
  std::ifstream file(path(name), std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Json RunTest::default_config() const {
  return {
      {"model",
       {{"n_layer", 2},
        {"d_model", 24},
        {"n_head", 4},
        {"n_kv_head", 2},
        {"d_ff", 40},
        {"vocab_size", 61},
        {"seq_len", 16}}},
      {"data",
       {{"train", path("train_*.bin")}, {"val", path("val.bin")}, {"seed", 7}, {"prefetch", 2}}},
      {"train", {{"steps", 24}, {"batch", 8}, {"micro_batch", 3}, {"lr", 0.01}, {"log_every", 5}}},
      {"eval", {{"every", 6}, {"batches", 2}}},
      {"checkpoint", {{"every", 5}, {"keep", 3}}},
      {"optimizer", {{"type", "adamw"}, {"weight_decay", 0.1}}},
      {"device", DASHLM_TEST_DEVICE},
      {"threads", 2}};
}

std::string RunTest::write_config(const Json& config, const std::string& name) const {
  write_file(name, config.dump(2));
  return path(name);
}

std::vector<std::string> RunTest::train_command(const std::vector<std::string>& extra) const {
  std::vector<std::string> command = {DASHLM_BINARY, "train", path("config.json")};
  if (std::find(extra.begin(), extra.end(), "--out") == extra.end()) {
    command.insert(command.end(), {"--out", out()});
  }
  command.insert(command.end(), extra.begin(), extra.end());
  return command;
}

ProcessResult RunTest::train(const std::vector<std::string>& extra) const {
  return testing::run(train_command(extra));
}

ProcessResult RunTest::dashlm(const std::vector<std::string>& arguments) const {
  std::vector<std::string> command = {DASHLM_BINARY};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return testing::run(command);
}

void RunTest::fake_openblas_core(const char* core_type) {
  setenv("LD_PRELOAD", DASHLM_FAKE_CORE, 1);
  setenv("ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0", 1);
  unsetenv("OPENBLAS_CORETYPE");
  unsetenv("DASHLM_INSTRUCTION_SET");
  if (core_type) setenv("OPENBLAS_CORETYPE", core_type, 1);
}

std::vector<Json> RunTest::metrics(const std::string& run, const std::string& kind) {
  std::vector<Json> found;
  std::ifstream file(run + "/metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    const Json json = Json::parse(line, nullptr, false);
    if (json.is_object() && json["kind"] == kind) found.push_back(json);
  }
  return found;
}

std::vector<std::string> RunTest::losses(const std::string& run) {
  std::vector<std::string> lines;
  for (const Json& json : metrics(run, "train")) {
    lines.push_back(json["step"].dump() + " " + json["loss"].dump() + " " +
                    json["grad_norm"].dump());
  }
  return lines;
}

std::vector<std::string> RunTest::checkpoints(const std::string& run) const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(run + "/checkpoints")) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step_")) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace dashlm::testing
