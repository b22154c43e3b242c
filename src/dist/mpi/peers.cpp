#include "dist/mpi/peers.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

namespace dashlm {
namespace {

// The state of a process as ps shows it: R, S, T, Z and so on. 0 if there is no such process.
char state_of(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(file, text);
  const size_t name_end = text.rfind(')');  // "1234 (name) S ..."
  return name_end != std::string::npos && name_end + 2 < text.size() ? text[name_end + 2] : '\0';
}

// A process that has ended stays visible until its parent asks for its exit code, which may take a
// while.
bool runs(pid_t process) {
  return (::kill(process, 0) == 0 || errno != ESRCH) && state_of(process) != 'Z';
}

}  // namespace

int Peers::process_namespace() {
  struct stat file = {};
  return ::stat("/proc/self/ns/pid", &file) == 0 ? static_cast<int>(file.st_ino) : 0;
}

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

std::string Peers::stopped() const {
  std::string text;
  for (const Peer& peer : peers_) {
    const char state = state_of(peer.process);
    if (state != 'T' && state != 't') continue;
    text += fmt::format("{}rank {} (process {}) is stopped", text.empty() ? "" : ", ", peer.rank,
                        peer.process);
  }
  return text;
}

}  // namespace dashlm
