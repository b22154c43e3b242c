// Choosing the next token from logits.
#pragma once

#include <cstdint>
#include <vector>

namespace dashlm {

struct SamplingConfig {
  double temperature = 0.8;  // 0: always the likeliest token
  int64_t top_k = 0;         // only the k likeliest tokens; 0: all
  double top_p = 0.95;       // only the likeliest tokens that together have this probability
  int64_t seed = 1;
};

// Draws the token at `position`: a function of (seed, position) and the logits (V).
int32_t sample_token(const std::vector<float>& logits, const SamplingConfig& config,
                     int64_t position);

}  // namespace dashlm
