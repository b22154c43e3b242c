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

  Peers() = default;
  // Keeps those that can be seen from here; ranks in containers of their own cannot.
  explicit Peers(const std::vector<Peer>& peers);

  // "rank 3 (process 1234)" of one that has ended, or "".
  std::string gone() const;

 private:
  std::vector<Peer> peers_;
};

}  // namespace dashlm
