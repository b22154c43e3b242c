#include "golden/recording.h"

#include <cmath>

#include "base/error.h"

namespace dashlm::golden {

std::string Recording::text(const std::string& key) const {
  const auto found = file_.metadata().find(key);
  require(found != file_.metadata().end(), "'{}' has no metadata \"{}\"", path(), key);
  return found->second;
}

std::vector<double> Recording::doubles(const std::string& name) const {
  std::vector<double> values(static_cast<size_t>(shape(name).elements()));
  file_.read(name, DType::f64, shape(name), values.data());
  return values;
}

std::vector<int32_t> Recording::integers(const std::string& name) const {
  std::vector<int32_t> values(static_cast<size_t>(shape(name).elements()));
  file_.read(name, DType::i32, shape(name), values.data());
  return values;
}

double relative_error(const std::vector<float>& got, const std::vector<float>& wanted) {
  double difference = 0, norm = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    difference += std::pow(static_cast<double>(got.at(i)) - wanted[i], 2);
    norm += std::pow(static_cast<double>(wanted[i]), 2);
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

ModelConfig recorded_model(const Recording& recording) {
  ModelConfig model;
  model.n_layer = recording.integer("n_layer");
  model.d_model = recording.integer("n_embd");
  model.n_head = recording.integer("n_head");
  model.vocab_size = recording.integer("vocab");
  model.seq_len = recording.integer("seq");
  model.d_ff = recording.integer("ffn");
  return model;
}

void load_recorded_weights(const Recording& recording, const std::string& prefix, Engine& engine) {
  for (const Parameter& parameter : engine.layout().parameters()) {
    const std::vector<float> values = recording.floats(prefix + parameter.name);
    const Tensor part = ParameterLayout::view(engine.weights(), parameter);
    require(recording.shape(prefix + parameter.name) == parameter.shape,
            "'{}': {}{} has another shape than {}", recording.path(), prefix, parameter.name,
            part.text());
    engine.device().upload(part.data, values.data(), part.bytes());
  }
}

std::vector<float> parameter_values(Engine& engine, const Tensor& flat,
                                    const Parameter& parameter) {
  const Tensor part = ParameterLayout::view(flat, parameter);
  std::vector<float> values(static_cast<size_t>(part.elements()));
  engine.device().download(values.data(), part.data, part.bytes());
  return values;
}

}  // namespace dashlm::golden
