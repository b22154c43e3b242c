#include "dist/mpi/peers.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace dashlm {
namespace {

// A process that has ended stays visible until its parent asks how, which may take a while.
bool has_ended(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // "1234 (name) S ..."
  return name_end != std::string::npos && name_end + 2 < text.size() && text[name_end + 2] == 'Z';
}

bool runs(pid_t process) {
  return (::kill(process, 0) == 0 || errno != ESRCH) && !has_ended(process);
}

}  // namespace

Peers::Peers(const std::vector<Peer>& peers) {
  for (const Peer& peer : peers) {
    if (peer.process != ::getpid() && runs(peer.process)) peers_.push_back(peer);
  }
}

std::string Peers::gone() const {
  for (const Peer& peer : peers_) {
    if (!runs(peer.process)) return fmt::format("rank {} (process {})", peer.rank, peer.process);
  }
  return "";
}

}  // namespace dashlm
