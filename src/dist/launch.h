// Finds the place of this process among the ranks, and connects the ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "dist/communicator.h"

namespace dashlm {

// Whether this process was started by mpirun or srun as one of several.
bool launched_as_rank();

// The rank of this process by its environment; 0 for a single process.
int launched_rank();
// Call it before an error is reported while ranks are not yet connected. Most errors then concern
// all ranks. Rank 0 reports the error and ends, and mpirun ends the others while they still wait
// here.
void wait_for_rank_0();
// The library that connects ranks in this build: "Open MPI v4.1.4", or "none".
std::string rank_library();

// Returns the MPI form if mpirun or srun started this process, else the form for one process.
// Throws a bad_input Error if the environment asks for several ranks and the program cannot connect
// them: the build lacks MPI, another launcher set the variables (WORLD_SIZE), or srun does not
// speak to this MPI.
std::unique_ptr<Communicator> open_communicator();

// The communicator for tensors of `device`: `communicator` itself if the device's memory is host
// memory, else a communicator for GPUs that uses `communicator` for everything else. Every rank
// must call it, with devices of one kind. Both arguments must outlive the result.
std::shared_ptr<Communicator> for_device(Communicator& communicator, Device& device);

// The stop signal that has reached some rank; the same on every rank. 0 means none.
int stop_signal_of_ranks(Communicator& communicator);

// Runs body on this rank and returns its exit code. If it throws, the message is logged and all
// other ranks are ended, so that no rank waits for a rank that is gone.
int run_on_ranks(const std::function<int(Communicator&)>& body);

// Throws if this process is one of several ranks. Commands for one process call it.
void require_one_process(const std::string& command);

}  // namespace dashlm
