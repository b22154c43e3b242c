#include "device/cpu/cpu_device.h"

#include <omp.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/timer.h"
#include "device/cpu/parallel.h"
#include "device/processors.h"

namespace dashlm::cpu {
namespace {

constexpr int kMostThreads = 1024;  // more is a slip of the finger
constexpr int64_t kAlignment = 64;
constexpr int64_t kHugePage = 1 << 21;
constexpr int64_t kGrain = 1 << 18;  // bytes a thread copies at once

int default_threads(int processes) {
  const char* wanted = std::getenv("OMP_NUM_THREADS");
  if (const int threads = wanted ? std::atoi(wanted) : 0; threads > 0) return threads;
  // A launcher that binds each process to processors of its own has shared out the processors
  // already. It has not shared out the processors that a control group pays for.
  auto all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  if (const int paid_for = processors_paid_for(); paid_for > 0) all = std::min(all, paid_for);
  return std::min(usable_processors(), std::max(1, all / processes));
}

std::string processor_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "CPU";
}

// Work on a CPU is done when the call that gave it returns.
class Stamp final : public TimeMark::Stamp {
 public:
  double milliseconds_since(const TimeMark::Stamp& earlier) const override {
    return timer_.milliseconds_since(static_cast<const Stamp&>(earlier).timer_);
  }

 private:
  Timer timer_;
};

}  // namespace

CpuDevice::CpuDevice(int threads, int processes) {
  require(threads >= 0 && threads <= kMostThreads,
          "threads is {}, but must be at least 0 (one per processor) and at most {}", threads,
          kMostThreads);
  omp_set_num_threads(threads > 0 ? threads : default_threads(processes));
}

std::string CpuDevice::description() const {
  return fmt::format("{}, {} thread{}", processor_name(), max_threads(),
                     max_threads() == 1 ? "" : "s");
}

void* CpuDevice::allocate(int64_t bytes) {
  if (bytes < 0) fail_runtime("{} bytes of memory were asked for", bytes);
  const auto size = static_cast<size_t>(std::max(kAlignment, bytes));
  const int64_t whole_pages = bytes / kHugePage * kHugePage;
  void* memory = nullptr;
  if (posix_memalign(&memory, whole_pages > 0 ? kHugePage : kAlignment, size) != 0) {
    fail_runtime("out of memory: the CPU cannot provide {} bytes", bytes);
  }
  // Products walk through many pages at once. It is only advice: systems without it refuse.
  if (whole_pages > 0) madvise(memory, static_cast<size_t>(whole_pages), MADV_HUGEPAGE);
  clear(memory, bytes);
  return memory;
}

void CpuDevice::release(void* memory) {
  std::free(memory);
}

void CpuDevice::upload(void* to_device, const void* from_host, int64_t bytes) {
  copy(to_device, from_host, bytes);
}

void CpuDevice::download(void* to_host, const void* from_device, int64_t bytes) {
  copy(to_host, from_device, bytes);
}

void CpuDevice::copy(void* to, const void* from, int64_t bytes) {
  parallel_ranges(bytes, kGrain, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

void CpuDevice::clear(void* memory, int64_t bytes) {
  parallel_ranges(bytes, kGrain, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char*>(memory) + begin, 0, static_cast<size_t>(end - begin));
  });
}

TimeMark CpuDevice::mark() {
  return TimeMark(std::make_shared<Stamp>());
}

}  // namespace dashlm::cpu
