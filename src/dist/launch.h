// From the environment of a process to its place among the ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dist/communicator.h"

namespace dashlm {

// Whether this process was started by mpirun or srun as one of several.
bool launched_as_rank();

// The number of this process among them, 0 for a single one, as its environment says.
int launched_rank();
// Before an error is reported while ranks are not yet connected: most are of all ranks, and when
// rank 0 has reported it and ended, mpirun ends the others in far less time than they wait here.
void wait_for_rank_0();
// What connects ranks in this build: "Open MPI v4.1.4", or "none".
std::string rank_library();

// The MPI form if mpirun or srun started this process, else the form for one process. Throws a
// bad_input Error when the environment asks for several ranks in a way that cannot be served:
// without MPI in this build, by variables that only other launchers set (WORLD_SIZE), or by an srun
// that does not speak to this MPI.
std::unique_ptr<Communicator> open_communicator();

// What moves tensors of `device` between these ranks: `communicator` itself where its memory is the
// host's, else another that goes through it for the rest. Every rank must get here, each with a
// device of the same kind; both must outlive the result.
std::shared_ptr<Communicator> for_device(Communicator& communicator, Device& device);

// The signal to stop that has reached any rank, the same on every rank; 0: none has.
int stop_signal_of_ranks(Communicator& communicator);

// Runs body on this rank and returns its exit code. When it throws, the message is logged and, if
// there are other ranks, all of them are ended: nobody waits for a rank that is gone.
int run_on_ranks(const std::function<int(Communicator&)>& body);

// For commands that are for one process only: throws if this is one of several ranks.
void require_one_process(const std::string& command);

}  // namespace dashlm
