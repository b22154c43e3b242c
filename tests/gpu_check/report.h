// What the sections of gpu_check share: options, the lines they print, and timing.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>

#include "device/device.h"
#include "device/gpu_models.h"
#include "ops/core/precision.h"

namespace dashlm::gpu_check {

struct Options {
  std::string configs = "configs";  // directory of llama-953m.json
  bool small = false;               // tiny sizes, to try the program itself
};

// "info" is a figure without a bound.
enum class Status { ok, fail, info };

// Prints one line: section, name, value, unit, published value or bound, status, separated by tabs.
// "-" stands for what there is not.
class Report {
 public:
  explicit Report(std::string section) : section_(std::move(section)) {}

  void line(const std::string& name, const std::string& value, const std::string& unit,
            const std::string& reference, Status status);
  void info(const std::string& name, double value, const std::string& unit,
            const std::string& reference = "-");
  // ok if value <= bound
  void check(const std::string& name, double value, const std::string& unit, double bound);
  bool failed() const { return failed_; }

 private:
  const std::string section_;
  bool failed_ = false;
};

// Milliseconds of the device for `work`: the median of `repeats` after one that warms up, during
// which plans are made and clocks rise.
double median_milliseconds(Device& device, int repeats, const std::function<void()>& work);

// FLOP/s by the data sheet, or "-" for unknown cards; in TFLOP/s, as text.
std::string data_sheet(const Device& device, MatmulPrecision precision);

void check_peaks(Device& device, const Options& options, Report& report);
void check_parity(Device& device, const Options& options, Report& report);
void check_roots(Device& device, const Options& options, Report& report);
void check_attention(Device& device, const Options& options, Report& report);
void check_optimizer(Device& device, const Options& options, Report& report);
void check_training(Device& device, const Options& options, Report& report);

}  // namespace dashlm::gpu_check
