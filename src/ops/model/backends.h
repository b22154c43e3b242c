// The operations of this room as each backend implements them: with the signature and the meaning
// of the operation itself, but on checked arguments.
#pragma once

#include "ops/model/attention.h"
#include "ops/model/cross_entropy.h"
#include "ops/model/embedding.h"
#include "ops/model/rms_norm.h"
#include "ops/model/rope.h"
#include "ops/model/swiglu.h"

namespace dashlm::cpu {
decltype(dashlm::attention) attention;
decltype(dashlm::attention_backward) attention_backward;
decltype(dashlm::cached_attention) cached_attention;
decltype(dashlm::cross_entropy) cross_entropy;
decltype(dashlm::cross_entropy_loss) cross_entropy_loss;
decltype(dashlm::embedding) embedding;
decltype(dashlm::embedding_backward) embedding_backward;
decltype(dashlm::rms_norm) rms_norm;
decltype(dashlm::rms_norm_backward) rms_norm_backward;
decltype(dashlm::rope) rope;
decltype(dashlm::swiglu) swiglu;
decltype(dashlm::swiglu_backward) swiglu_backward;
}  // namespace dashlm::cpu

namespace dashlm::cuda {
decltype(dashlm::attention) attention;
decltype(dashlm::attention_backward) attention_backward;
decltype(dashlm::cached_attention) cached_attention;
decltype(dashlm::cross_entropy) cross_entropy;
decltype(dashlm::cross_entropy_loss) cross_entropy_loss;
decltype(dashlm::embedding) embedding;
decltype(dashlm::embedding_backward) embedding_backward;
decltype(dashlm::rms_norm) rms_norm;
decltype(dashlm::rms_norm_backward) rms_norm_backward;
decltype(dashlm::rope) rope;
decltype(dashlm::swiglu) swiglu;
decltype(dashlm::swiglu_backward) swiglu_backward;
}  // namespace dashlm::cuda
