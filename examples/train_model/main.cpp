// Trains a small Llama on the bytes of a text through the library: the five calls of a training
// step, without the run directory, checkpoints and ranks that train/trainer.h adds.
//
//   train_model TEXT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "base/error.h"
#include "dist/communicator.h"
#include "train/engine.h"

namespace {

using namespace dashlm;

// `dashlm config` prints all keys with their meaning.
constexpr const char* kConfig = R"({
  "model": {"n_layer": 2, "d_model": 64, "n_head": 4, "d_ff": 192, "vocab_size": 256, "seq_len": 64},
  "train": {"steps": 100, "batch": 8, "lr": 5e-3, "grad_clip": 1.0},
  "optimizer": {"type": "dash", "block_size": 32, "inverse_root": {"type": "newton_db"}}
})";

// A file of one uint16 token for each byte of the text.
std::string tokens_of(const std::string& text) {
  std::ifstream input(text, std::ios::binary);
  require(input.good(), "cannot read '{}'", text);
  const std::vector<unsigned char> bytes(std::istreambuf_iterator<char>(input), {});
  const std::vector<uint16_t> tokens(bytes.begin(), bytes.end());
  const std::string path = std::filesystem::temp_directory_path() / "train_model_tokens.bin";
  std::ofstream output(path, std::ios::binary);
  output.write(reinterpret_cast<const char*>(tokens.data()),
               static_cast<std::streamsize>(tokens.size() * sizeof(uint16_t)));
  return path;
}

void train(const std::string& text) {
  const RunConfig config = parse_run_config(kConfig, "the example's config");
  const TokenStream tokens({tokens_of(text)}, config.model.vocab_size);
  const SampleOrder order(tokens.size(), config.model.seq_len, /*seed=*/1);
  BatchLoader loader(tokens, order, config.train.batch, /*start=*/{}, config.data.prefetch);

  const auto device = open_device("auto");
  LoneCommunicator alone;  // run_on_ranks() of dist/launch.h gives those of an mpirun
  Engine engine(*device, config, alone);
  engine.allocate();
  engine.initialize();
  for (int64_t step = 0; step < config.train.steps; ++step) {
    const Batch batch = loader.next();
    engine.forward_backward(batch);
    const StepSums sums = engine.reduce();
    engine.update({.update = step + 1,
                   .lr = config.train.rate(step),
                   .gradient_scale = std::min(1.0, config.train.grad_clip / sums.gradient_norm)});
    engine.gather();
    if (step % 10 == 9) std::printf("step %3d  loss %.4f\n", static_cast<int>(step + 1), sums.loss);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    require(argc == 2, "usage: train_model TEXT");
    train(argv[1]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "train_model: %s\n", e.what());
    return 1;
  }
}
