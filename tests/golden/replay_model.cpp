// llama_grads: one forward and backward pass.
#include <cmath>

#include "golden/recording.h"

namespace dashlm::golden {
namespace {

// Logits through the forward pass for generation, which keeps nothing for a backward pass.
std::vector<float> logits_of(Engine& engine, const RunConfig& config, const Recording& recording) {
  const Shape shape = recording.shape("tokens");
  const BatchShape batch{shape[0], shape[1]};
  const std::vector<int32_t> tokens = recording.integers("tokens");
  Arena memory(engine.device(), "logits"), scratch(engine.device(), "scratch");
  Context context{engine.device(), scratch};
  Tensor out;
  const auto run = [&] {
    const Llama llama(context, config.model,
                      llama_tensors(engine.layout(), config.model, engine.weights()), memory,
                      config.model.seq_len);
    const Tensor input = memory.take("tokens", {batch.tokens()}, DType::i32);
    out = memory.take("logits", {batch.tokens(), config.model.vocab_size});
    if (!memory.measuring()) {
      engine.device().upload(input.data, tokens.data(), input.bytes());
    }
    llama.logits(context, memory, input, batch, out);
  };
  run();
  memory.commit();
  scratch.commit();
  run();
  std::vector<float> logits(static_cast<size_t>(out.elements()));
  engine.device().download(logits.data(), out.data, out.bytes());
  return logits;
}

}  // namespace

// Tolerances: products of up to 96 terms in f32 differ by about 1e-6 between two orders of
// summation; the loss to 1e-5 and each gradient to 1e-4 are what is asked for, and measured errors
// are far below (about 1e-7 and 2e-6).
Replay replay_llama_grads(const Recording& recording) {
  RunConfig config;
  config.model = recorded_model(recording);
  config.train.batch = recording.integer("batch");
  config.resolve();
  const auto device = open_device("auto");
  LoneCommunicator alone;
  Engine engine(*device, config, alone);
  engine.allocate();
  load_recorded_weights(recording, "w.", engine);

  engine.forward_backward({config.train.batch,
                           config.model.seq_len,
                           recording.integers("tokens"),
                           recording.integers("targets"),
                           {},
                           0});
  const double loss = engine.reduce().loss;
  const double recorded_loss = recording.floats("loss")[0];
  Replay replay{"llama_grads", {}};
  replay.comparisons.push_back({"loss", std::abs(loss - recorded_loss) / recorded_loss, 1e-6});
  replay.comparisons.push_back(
      {"logits", relative_error(logits_of(engine, config, recording), recording.floats("logits")),
       1e-5});
  for (const Parameter& parameter : engine.layout().parameters()) {
    const auto got = parameter_values(engine, engine.gradients(), parameter);
    replay.comparisons.push_back({"g." + parameter.name,
                                  relative_error(got, recording.floats("g." + parameter.name)),
                                  1e-5});
  }
  return replay;
}

}  // namespace dashlm::golden
