// The parity table on a real GPU: every operation against the CPU backend, and against itself.
#include "gpu_check/report.h"
#include "parity/table.h"

namespace dashlm::gpu_check {

void check_parity(Device& device, const Options& options, Report& report) {
  const auto cpu = open_device("cpu");
  int cases = 0, wrong = 0, unsteady = 0;
  const auto check = [&](const parity::Case& one) {
    const auto [comparison, again] = parity::compare_devices_and_again(one, device, *cpu);
    const std::string what =
        comparison.ok()
            ? one.name
            : fmt::format("{}: {}[{}] is {:.6g} instead of {:.6g}", one.name, comparison.output,
                          comparison.at, comparison.got, comparison.want);
    report.check(what, comparison.worst, "of the bound", 1);
    if (!again.ok()) {
      report.line(one.name + ": another result the second time", again.output, "-", "the same bits",
                  Status::fail);
    }
    ++cases;
    wrong += comparison.ok() ? 0 : 1;
    unsteady += again.ok() ? 0 : 1;
  };
  for (const parity::Case& one : parity::all_cases(parity::Sizes::small)) check(one);
  if (!options.small) {
    for (const parity::Case& one : parity::all_cases(parity::Sizes::large)) check(one);
  }
  report.check(fmt::format("of {} cases, beyond their bound", cases), wrong, "cases", 0);
  report.check(fmt::format("of {} cases, not the same bits twice", cases), unsteady, "cases", 0);
}

}  // namespace dashlm::gpu_check
