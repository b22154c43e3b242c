#include "golden/replay.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "golden/recording.h"

namespace dashlm::golden {

bool Replay::ok() const {
  return !comparisons.empty() && std::all_of(comparisons.begin(), comparisons.end(),
                                             [](const Comparison& c) { return c.ok(); });
}

double Replay::max_error() const {
  double max = 0;
  for (const Comparison& c : comparisons) {
    if (std::isnan(c.error)) return c.error;
    max = std::max(max, c.error);
  }
  return max;
}

namespace {

// Recordings of optimizer steps tell their code apart by their settings.
Replay replay_optimizer(const Recording& recording) {
  if (recording.has_text("inv_root_freq")) return replay_dash(recording);
  if (recording.text("code").find("RootInvShampooPreconditionerConfig") != std::string::npos) {
    return replay_shampoo(recording);
  }
  if (recording.text("code").find("AdEMAMix") != std::string::npos) {
    return replay_ademamix(recording);
  }
  fail_input("'{}' is a recording of {}, which cannot be replayed yet", recording.path(),
             recording.text("code"));
}

}  // namespace

Replay replay_file(const std::string& path) {
  const Recording recording(path);
  if (recording.has("g.embed")) return replay_llama_grads(recording);
  if (recording.has("w0.embed")) return replay_training(recording);
  if (recording.has("p0.step0")) return replay_optimizer(recording);
  if (recording.has("cond1.A")) return replay_roots(recording);
  fail_input("'{}' is not a recording that can be replayed", path);
}

}  // namespace dashlm::golden
