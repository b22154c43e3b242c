// gpu_check SECTION [--configs DIR] [--small]: one section of the check of a GPU, a line of
// tab-separated values for each figure. scripts/gpu_check.sh runs all of them.
//
// Exit code 0: all is well, or no GPU answers; 1: something failed; 2: the section broke off.
#include <exception>

#include "base/error.h"
#include "base/log.h"
#include "gpu_check/report.h"

namespace dashlm::gpu_check {
namespace {

void list_devices(Device& device, const Options&, Report& report) {
  for (const DeviceInfo& gpu : list_gpus()) {
    report.line(gpu.name, fmt::format("{:.0f}", static_cast<double>(gpu.memory) / (1 << 30)), "GiB",
                fmt::format("compute capability {}.{}", gpu.major, gpu.minor), Status::info);
  }
  report.line("data sheet", device.model() ? device.model()->name : "unknown", "-", "-",
              Status::info);
}

struct Section {
  const char* name;
  void (*run)(Device&, const Options&, Report&);
};

constexpr Section kSections[] = {
    {"devices", list_devices}, {"peaks", check_peaks},         {"parity", check_parity},
    {"roots", check_roots},    {"attention", check_attention}, {"optimizer", check_optimizer},
    {"train", check_training},
};

int usage() {
  fmt::print(stderr, "usage: gpu_check SECTION [--configs DIR] [--small]; sections are");
  for (const Section& section : kSections) fmt::print(stderr, " {}", section.name);
  fmt::print(stderr, "\n");
  return 1;
}

int run_section(const Section& section, const Options& options) {
  if (list_gpus().empty()) {
    fmt::print("no GPU answers: nothing was checked\n");
    return 0;
  }
  Report report(section.name);
  try {
    const auto device = open_device("cuda");
    section.run(*device, options, report);
  } catch (const std::exception& error) {
    fmt::print(stderr, "gpu_check {}: {}\n", section.name, error.what());
    report.line("broke off", "-", "-", "-", Status::fail);
    return 2;
  }
  return report.failed() ? 1 : 0;
}

int main(int argc, char** argv) {
  init_logging(/*quiet=*/true);
  Options options;
  const Section* chosen = nullptr;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const Section* found = nullptr;
    for (const Section& section : kSections) {
      if (argument == section.name) found = &section;
    }
    if (argument == "--small") {
      options.small = true;
    } else if (argument == "--configs" && i + 1 < argc) {
      options.configs = argv[++i];
    } else if (found && !chosen) {
      chosen = found;
    } else {
      return usage();
    }
  }
  return chosen ? run_section(*chosen, options) : usage();
}

}  // namespace
}  // namespace dashlm::gpu_check

int main(int argc, char** argv) {
  return dashlm::gpu_check::main(argc, argv);
}
