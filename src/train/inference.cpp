#include "train/inference.h"

#include <algorithm>

#include "ops/core/reduce.h"
#include "train/checkpoint.h"

namespace dashlm {

InferenceModel::InferenceModel(Device& device, const RunConfig& config, const std::string& folder,
                               int64_t sequences)
    : device_(device),
      config_(config.model),
      types_{dtype_of(config.train.precision), dtype_of(config.train.residual)},
      layout_(llama_parameters(config.model)),
      sequences_(sequences),
      lasting_(device, "model"),
      activations_(device, "activations"),
      scratch_(device, "scratch"),
      context_{device, scratch_} {
  build();
  walk_through();
  for (Arena* arena : {&lasting_, &activations_, &scratch_}) arena->commit();
  build();
  load_weights(folder, config_, layout_, device_, weights_);
}

void InferenceModel::build() {
  const Shape tokens{sequences_ * config_.seq_len};
  weights_ = lasting_.take("weights", {layout_.elements()}, types_.compute);
  tokens_ = lasting_.take("tokens", tokens, DType::i32);
  targets_ = lasting_.take("targets", tokens, DType::i32);
  losses_ = lasting_.take("losses", tokens);
  logits_ = lasting_.take("logits", {1, config_.vocab_size});
  cache_ = KeyValueCache::take(lasting_, config_, types_.compute, config_.seq_len);
  llama_ = std::make_unique<Llama>(context_, config_, llama_tensors(layout_, config_, weights_),
                                   lasting_, config_.seq_len, types_.residual);
}

void InferenceModel::walk_through() {
  llama_->evaluate(context_, activations_, tokens_, targets_, {sequences_, config_.seq_len},
                   losses_);
  llama_->decode(context_, activations_, cache_, tokens_.rows(0, config_.seq_len), logits_);
  forget();
}

LossSum InferenceModel::evaluate(const Batch& batch, const ForwardObserver& observer) {
  const BatchShape shape{batch.sequences, batch.seq_len};
  const auto part = [&](const Tensor& whole) { return whole.rows(0, shape.tokens()); };
  device_.upload(tokens_.data, batch.tokens.data(), part(tokens_).bytes());
  device_.upload(targets_.data, batch.targets.data(), part(targets_).bytes());
  llama_->evaluate(context_, activations_, part(tokens_), part(targets_), shape, part(losses_),
                   observer);
  return {sum(context_, part(losses_)), batch.scored_targets()};
}

RoundingError InferenceModel::quantize(const Quantization& quantization) {
  return quantize_layers(device_, layout_, weights_, quantization);
}

std::vector<float> InferenceModel::append(std::span<const int32_t> tokens) {
  const Tensor part = tokens_.rows(0, static_cast<int64_t>(tokens.size()));
  device_.upload(part.data, tokens.data(), part.bytes());
  llama_->decode(context_, activations_, cache_, part, logits_);
  std::vector<float> logits(static_cast<size_t>(config_.vocab_size));
  device_.download(logits.data(), logits_.data, logits_.bytes());
  return logits;
}

}  // namespace dashlm
