// Watches the processes of the other ranks of this node, to notice the end of one.
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

  // A number that is equal for processes of this machine that share process numbers.
  static int process_namespace();

  Peers() = default;
  // Keeps the peers that are visible from here. All must be in this process's namespace.
  explicit Peers(const std::vector<Peer>& peers);

  // Names a peer that has ended, as "rank 3 (process 1234)"; "" if none has.
  std::string gone() const;
  // Names all peers that wait for SIGCONT, as "rank 3 (process 1234) is stopped"; "" if none does.
  std::string stopped() const;

 private:
  std::vector<Peer> peers_;
};

}  // namespace dashlm
