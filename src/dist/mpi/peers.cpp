#include "dist/mpi/peers.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace dashlm {
namespace {

bool exists(pid_t process) {
  return ::kill(process, 0) == 0 || errno != ESRCH;
}

}  // namespace

Peers::Peers(const std::vector<Peer>& peers) {
  for (const Peer& peer : peers) {
    if (peer.process != ::getpid() && exists(peer.process)) peers_.push_back(peer);
  }
}

std::string Peers::gone() const {
  for (const Peer& peer : peers_) {
    if (!exists(peer.process)) return fmt::format("rank {} (process {})", peer.rank, peer.process);
  }
  return "";
}

}  // namespace dashlm
