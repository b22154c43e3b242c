#include "gpu_check/report.h"

#include <algorithm>
#include <vector>

namespace dashlm::gpu_check {

void Report::line(const std::string& name, const std::string& value, const std::string& unit,
                  const std::string& reference, Status status) {
  const char* word = status == Status::ok ? "ok" : status == Status::fail ? "FAIL" : "info";
  failed_ = failed_ || status == Status::fail;
  fmt::print("{}\t{}\t{}\t{}\t{}\t{}\n", section_, name, value, unit, reference, word);
  std::fflush(stdout);  // what comes after may crash
}

void Report::info(const std::string& name, double value, const std::string& unit,
                  const std::string& reference) {
  line(name, fmt::format("{:.4g}", value), unit, reference, Status::info);
}

void Report::check(const std::string& name, double value, const std::string& unit, double bound) {
  line(name, fmt::format("{:.4g}", value), unit, fmt::format("{:.4g}", bound),
       value <= bound ? Status::ok : Status::fail);
}

double median_milliseconds(Device& device, int repeats, const std::function<void()>& work) {
  work();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const TimeMark before = device.mark();
    work();
    times.push_back(device.mark().milliseconds_since(before));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

std::string data_sheet(const Device& device, MatmulPrecision precision) {
  const GpuModel* model = device.model();
  if (!model) return "-";
  const double rate = precision == MatmulPrecision::fp32   ? model->fp32
                      : precision == MatmulPrecision::tf32 ? model->tf32
                                                           : model->bf16;
  return fmt::format("{:.4g}", rate / 1e12);
}

}  // namespace dashlm::gpu_check
