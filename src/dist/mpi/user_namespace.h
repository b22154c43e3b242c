// Support for ranks in containers.
//
// Open MPI 4 copies large messages straight from one process to another of the same node
// (process_vm_readv). Linux refuses this between user namespaces that do not contain one another,
// and the receiver waits for ever. Rootless containers put each rank into a namespace of its own.
#pragma once

#include <string>

namespace dashlm {

// Whether this process may be in another user namespace than its launcher, and so in another than
// its peers. `proc` is the folder of process information, for tests.
bool has_user_namespace_of_its_own(const std::string& proc = "/proc");

// Call it before MPI starts. A process in such a namespace then gets its messages through shared
// memory alone, unless the environment already sets Open MPI's variable for this.
void choose_copies_between_ranks();

}  // namespace dashlm
