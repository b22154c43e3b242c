// golden_replay FILE...: replays recorded runs, one line each; exit code 1 if any fails.
#include <fmt/format.h>

#include <filesystem>

#include "base/error.h"
#include "golden/replay.h"
#include "ops/core/cpu_kernels.h"

namespace {

bool replay_and_print(const std::string& path) {
  using namespace dashlm::golden;
  const Replay replay = replay_file(path);
  fmt::print("{} kind={} max_rel_err={:.3g} {}\n", std::filesystem::path(path).filename().string(),
             replay.kind, replay.max_error(), replay.ok() ? "ok" : "FAIL");
  for (const Comparison& c : replay.comparisons) {
    if (!c.ok()) fmt::print("  {}: {:.3g} exceeds {:.3g}\n", c.what, c.error, c.tolerance);
  }
  return replay.ok();
}

}  // namespace

int main(int argc, char** argv) {
  dashlm::restart_with_right_kernels(argv);
  if (argc < 2) {
    fmt::print(stderr, "usage: golden_replay FILE...\n");
    return 1;
  }
  bool ok = true;
  for (int i = 1; i < argc; ++i) {
    try {
      ok = replay_and_print(argv[i]) && ok;
    } catch (const dashlm::Error& e) {
      fmt::print("{} FAIL: {}\n", argv[i], e.what());
      ok = false;
    }
  }
  return ok ? 0 : 1;
}
