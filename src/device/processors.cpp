#include "device/processors.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

namespace dashlm {
namespace {

constexpr double kNoQuota = std::numeric_limits<double>::infinity();

// Version 2: "200000 100000" or "max 100000", microseconds in each period.
double quota_of_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  double quota = 0, period = 0;
  return file >> quota >> period && period > 0 ? quota / period : kNoQuota;
}

// Version 1 has the same in two files; -1 means no limit.
double quota_of_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"),
      period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  const bool limited = quota_file >> quota && period_file >> period && quota > 0 && period > 0;
  return limited ? quota / period : kNoQuota;
}

// A limit of any group around this one holds too. In a container the path may be the machine's
// path, of which only the top is visible.
double least_quota(const std::string& mount, std::string path,
                   double (*quota_of)(const std::string&)) {
  double least = quota_of(mount);
  for (; path.size() > 1; path.resize(path.rfind('/'))) {
    least = std::min(least, quota_of(mount + path));
  }
  return least;
}

bool lists_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');) {
    if (name == "cpu") return true;
  }
  return false;
}

}  // namespace

std::vector<int> processors_allowed() {
  std::vector<int> allowed;
  cpu_set_t set;
  CPU_ZERO(&set);
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  const auto all = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  for (int i = 0; i < (known ? CPU_SETSIZE : all); ++i) {
    if (!known || CPU_ISSET(static_cast<size_t>(i), &set)) allowed.push_back(i);
  }
  return allowed;
}

int processors_paid_for(const std::string& root) {
  const std::string mount = root + "/sys/fs/cgroup";
  double least = kNoQuota;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {  // number:controllers:path
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_quota(mount, path, quota_of_v2));
    } else if (lists_cpu(controllers)) {
      least = std::min({least, least_quota(mount + "/cpu", path, quota_of_v1),
                        least_quota(mount + "/" + controllers, path, quota_of_v1)});
    }
  }
  return std::isfinite(least) ? std::max(1, static_cast<int>(std::ceil(least))) : 0;
}

int usable_processors() {
  const auto allowed = std::max(1, static_cast<int>(processors_allowed().size()));
  const int paid_for = processors_paid_for();
  return paid_for > 0 ? std::min(allowed, paid_for) : allowed;
}

namespace {

// Ranks that have processors in common.
struct Sharers {
  std::string who;
  int ranks = 0, threads = 0;
  std::set<int> allowed;
  int paid_for = 0;

  void add(const ThreadUse& rank) {
    ++ranks;
    threads += rank.threads;
    allowed.insert(rank.allowed.begin(), rank.allowed.end());
  }
  std::string warning() const {
    int processors = static_cast<int>(allowed.size());
    if (paid_for > 0) processors = std::min(processors, paid_for);
    if (threads <= processors) return "";
    return fmt::format(
        "{} {} {} threads, but may use {} processor{}: threads that take turns are slower than "
        "fewer; set \"threads\" or OMP_NUM_THREADS to {}",
        who, ranks == 1 ? "has" : "have", threads, processors, processors == 1 ? "" : "s",
        std::max(1, processors / ranks));
  }
};

}  // namespace

std::string warning_of_threads(const std::vector<ThreadUse>& ranks) {
  std::vector<Sharers> alone;
  std::map<std::string, Sharers> groups, nodes;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const ThreadUse& rank = ranks[i];
    Sharers& itself = alone.emplace_back();
    itself.who = ranks.size() == 1 ? "this process" : fmt::format("rank {}", i);
    itself.paid_for = rank.paid_for;
    itself.add(rank);
    if (rank.paid_for > 0) {
      groups[rank.group].add(rank);
      groups[rank.group].paid_for = rank.paid_for;
    }
    nodes[rank.node].add(rank);
  }
  for (const Sharers& sharers : alone) {
    if (std::string text = sharers.warning(); !text.empty()) return text;
  }
  for (auto* shared : {&groups, &nodes}) {
    for (auto& [name, sharers] : *shared) {
      sharers.who = fmt::format("the {} ranks of a {}", sharers.ranks,
                                shared == &groups ? "control group" : "node");
      if (std::string text = sharers.warning(); !text.empty()) return text;
    }
  }
  return "";
}

}  // namespace dashlm
