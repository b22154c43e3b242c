// The processes of the other ranks of this node, to notice when one is gone.
//
// Open MPI's mpirun ends a job when one of its processes dies, but other launchers leave the rest
// waiting for messages that will never come.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace dashlm {

class Peers {
 public:
  struct Peer {
    int rank = 0;
    pid_t process = 0;
  };

  // The same for processes of this machine that call a process by the same number.
  static int process_namespace();

  Peers() = default;
  // Keeps those that can be seen from here. All must be of this process's namespace.
  explicit Peers(const std::vector<Peer>& peers);

  // "rank 3 (process 1234)" of one that has ended, or "".
  std::string gone() const;
  // "rank 3 (process 1234) is stopped" of those that wait for SIGCONT, one after the other, or "".
  std::string stopped() const;

 private:
  std::vector<Peer> peers_;
};

}  // namespace dashlm
