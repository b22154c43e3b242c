// A recorded run and what several kinds of replay share.
#pragma once

#include <memory>

#include "golden/replay.h"
#include "io/safetensors.h"
#include "train/engine.h"

namespace dashlm::golden {

class Recording {
 public:
  explicit Recording(const std::string& path) : file_(path) {}

  bool has(const std::string& name) const { return file_.entries().contains(name); }
  bool has_text(const std::string& key) const { return file_.metadata().contains(key); }
  std::string text(const std::string& key) const;
  int64_t integer(const std::string& key) const { return std::stoll(text(key)); }
  double number(const std::string& key) const { return std::stod(text(key)); }
  Shape shape(const std::string& name) const { return file_.entries().at(name).shape; }
  std::vector<float> floats(const std::string& name) const { return file_.read_f32(name); }
  std::vector<double> doubles(const std::string& name) const;
  std::vector<int32_t> integers(const std::string& name) const;
  const std::string& path() const { return file_.path(); }

 private:
  SafetensorsReader file_;
};

double relative_error(const std::vector<float>& got, const std::vector<float>& wanted);

// The model that a recording's metadata describes.
ModelConfig recorded_model(const Recording& recording);
// Sets the engine's weights from tensors named prefix + parameter name.
void load_recorded_weights(const Recording& recording, const std::string& prefix, Engine& engine);
// Host copy of one parameter's part of a flat tensor.
std::vector<float> parameter_values(Engine& engine, const Tensor& flat, const Parameter& parameter);

Replay replay_llama_grads(const Recording& recording);
Replay replay_training(const Recording& recording);
Replay replay_dash(const Recording& recording);
Replay replay_shampoo(const Recording& recording);
Replay replay_ademamix(const Recording& recording);
Replay replay_roots(const Recording& recording);

}  // namespace dashlm::golden
