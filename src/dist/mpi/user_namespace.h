// Ranks in containers.
//
// Open MPI 4 copies large messages straight from one process to another of the same node
// (process_vm_readv), which Linux refuses between user namespaces that do not contain one another;
// the message is then waited for for ever. Rootless containers put each rank into a namespace of
// its own.
#pragma once

#include <string>

namespace dashlm {

// Whether this process may lie in another user namespace than the launcher that it comes from, and
// so in another than its peers. `proc` is where process information is: for tests.
bool has_user_namespace_of_its_own(const std::string& proc = "/proc");

// Before MPI starts: such a process gets its messages through shared memory alone, unless the
// environment has a setting of Open MPI for this already.
void choose_copies_between_ranks();

}  // namespace dashlm
