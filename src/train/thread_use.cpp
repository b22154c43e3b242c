#include "train/thread_use.h"

#include "base/log.h"
#include "config/config.h"
#include "device/processors.h"

namespace dashlm {

void warn_of_crowded_threads(Communicator& communicator, const Device& device) {
  if (device.kind() != DeviceKind::cpu) return;  // the same for all ranks
  const ThreadUse own = own_thread_use();
  const Json mine = {own.node, own.group, own.threads, own.allowed, own.paid_for};
  std::vector<ThreadUse> ranks;
  for (const std::string& text : communicator.exchange(mine.dump())) {
    const Json rank = Json::parse(text);
    ranks.push_back({rank[0], rank[1], rank[2], rank[3], rank[4]});
  }
  const std::string warning = warning_of_threads(ranks);
  if (communicator.rank() == 0 && !warning.empty()) spdlog::warn("{}", warning);
}

}  // namespace dashlm
