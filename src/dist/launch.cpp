#include "dist/launch.h"

#include <chrono>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/log.h"
#include "base/signals.h"
#ifdef DASHLM_HAS_MPI
#include "dist/mpi/mpi_communicator.h"
#endif
#ifdef DASHLM_HAS_NCCL
#include "dist/cuda/nccl_communicator.h"
#endif

namespace dashlm {
namespace {

// The value of a variable of the environment; 0 where it is not set.
int number_from(const char* variable) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : 0;
}

// A variable by which a launcher tells a process that it is one of several. It holds the number of
// processes, or the process's place among them; a place above 0 means at least two.
struct LaunchVariable {
  const char* name;
  bool is_place;
};

// Open MPI, MPICH and Intel MPI, two MVAPICHs, Flux, JSM, PALS, ALPS, PMIx. Slurm sets the variable
// for processes of a step; sbatch's own script belongs to none.
constexpr LaunchVariable kLaunchVariables[] = {
    {"OMPI_COMM_WORLD_SIZE", false},
    {"PMI_SIZE", false},
    {"PMI_RANK", true},
    {"MV2_COMM_WORLD_SIZE", false},
    {"MVP_COMM_WORLD_SIZE", false},
    {"FLUX_JOB_SIZE", false},
    {"JSM_NAMESPACE_SIZE", false},
    {"PALS_LOCAL_SIZE", false},
    {"PALS_RANKID", true},
    {"ALPS_APP_PE", true},
    {"PMIX_RANK", true},
    {"SLURM_STEP_NUM_TASKS", false},
};

// The least number of processes that were started together, and the variable that tells it.
struct Launch {
  int processes = 1;
  std::string variable;
};

Launch look_at_launch() {
  Launch launch;
  for (const LaunchVariable& variable : kLaunchVariables) {
    const int value = number_from(variable.name) + (variable.is_place ? 1 : 0);
    if (std::getenv(variable.name) && value > launch.processes) launch = {value, variable.name};
  }
  return launch;
}

std::unique_ptr<Communicator> open_mpi() {
#ifdef DASHLM_HAS_MPI
  const Launch launch = look_at_launch();
  // MPI's own complaint about this is long and does not say what to do.
  const bool launcher_speaks =
      std::getenv("OMPI_COMM_WORLD_SIZE") || std::getenv("PMIX_RANK") || std::getenv("PMI_RANK");
  require(launch.variable != "SLURM_STEP_NUM_TASKS" || launcher_speaks,
          "Slurm started {} tasks, but does not tell them how to meet; start them by `srun "
          "--mpi=pmix`, or for a single process unset SLURM_STEP_NUM_TASKS",
          launch.processes);
  auto communicator = std::make_unique<MpiCommunicator>();
  require(communicator->size() > 1,
          "{} processes or more were started together ({} = {}), but each sees itself alone: the "
          "launcher does not speak to this build's MPI ({}). Use the mpirun that belongs to it, or "
          "under Slurm `srun --mpi=pmix`; for a single process unset {}",
          launch.processes, launch.variable, std::getenv(launch.variable.c_str()),
          MpiCommunicator::library(), launch.variable);
  return communicator;
#else
  fail_input(
      "this process was started as one of several ranks, but this build of dashlm has no MPI; "
      "install Open MPI (scripts/setup.sh) and build again, or start a single process");
#endif
}

// Ranks on GPUs must not wait for ranks that communicate in another way.
void require_same_kind(Communicator& communicator, const Device& device) {
  const std::string own = device.kind() == DeviceKind::cuda ? "a GPU" : "the CPU";
  const std::vector<std::string> all = communicator.exchange(own);
  for (size_t rank = 0; rank < all.size(); ++rank) {
    require(all[rank] == own,
            "rank {} computes on {}, but rank {} on {}: does every node have a GPU that answers? "
            "Else set the device to \"cpu\"",
            communicator.rank(), own, rank, all[rank]);
  }
}

// The lowest rank that fails speaks first, and its abort ends the others. So a cause that all ranks
// share is reported once.
[[noreturn]] void fail_all_ranks(Communicator& communicator, ExitCode code, const char* message) {
  const int64_t turns = std::min(communicator.rank(), 40);
  for (int64_t turn = 0; turn < turns; ++turn) {
    std::this_thread::sleep_for(std::chrono::milliseconds(turn == 0 ? 200 : 50));
    if (stop_signal()) communicator.abort(code);
  }
  spdlog::error("{}", message);
  communicator.abort(code);
}

}  // namespace

bool launched_as_rank() {
  return look_at_launch().processes > 1;
}

int launched_rank() {
  if (!launched_as_rank()) return 0;
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"}) {
    if (std::getenv(variable)) return number_from(variable);
  }
  return 0;
}

void wait_for_rank_0() {
  if (launched_rank() > 0) std::this_thread::sleep_for(std::chrono::seconds(5));
}

std::string rank_library() {
#ifdef DASHLM_HAS_MPI
  return MpiCommunicator::library();
#else
  return "none";
#endif
}

std::unique_ptr<Communicator> open_communicator() {
  if (launched_as_rank()) return open_mpi();
  require(number_from("WORLD_SIZE") <= 1,
          "WORLD_SIZE = {} asks for several ranks, but dashlm takes its ranks from MPI: start it "
          "by `mpirun -n {} dashlm ...` or by srun, or unset WORLD_SIZE",
          number_from("WORLD_SIZE"), number_from("WORLD_SIZE"));
  return std::make_unique<LoneCommunicator>();
}

std::shared_ptr<Communicator> for_device(Communicator& communicator, Device& device) {
  const std::shared_ptr<Communicator> itself(std::shared_ptr<void>(), &communicator);
  if (communicator.size() == 1) return itself;
  require_same_kind(communicator, device);
  if (device.kind() == DeviceKind::cpu) return itself;
#ifdef DASHLM_HAS_NCCL
  return std::make_shared<cuda::NcclCommunicator>(communicator,
                                                  static_cast<cuda::CudaDevice&>(device));
#else
  fail_input(
      "this build of dashlm has no NCCL, which several ranks on GPUs need; install it and "
      "build again, or start a single process");
#endif
}

int stop_signal_of_ranks(Communicator& communicator) {
  int signal = 0;
  for (const std::string& text : communicator.exchange(std::to_string(stop_signal()))) {
    signal = std::max(signal, std::stoi(text));
  }
  return signal;
}

int run_on_ranks(const std::function<int(Communicator&)>& body) {
  // Called before MPI starts, so that no signal ends a rank while the others go on.
  if (launched_as_rank()) catch_stop_signals(/*as_rank=*/true);
  const std::unique_ptr<Communicator> communicator = open_communicator();
  if (communicator->size() == 1) return body(*communicator);
  log_as_rank(communicator->rank());
  try {
    const int exit_code = body(*communicator);
    communicator->barrier();
    return exit_code;
  } catch (const Error& e) {
    fail_all_ranks(*communicator, e.code(), e.what());
  } catch (const std::bad_alloc&) {
    fail_all_ranks(*communicator, ExitCode::runtime_failure, "out of memory");
  } catch (const std::exception& e) {
    fail_all_ranks(*communicator, ExitCode::runtime_failure, e.what());
  }
}

void require_one_process(const std::string& command) {
  require(!launched_as_rank(), "`dashlm {}` works in one process; start it without mpirun or srun",
          command);
}

}  // namespace dashlm
