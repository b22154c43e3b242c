// The one thread of this process that calls MPI.
//
// Tasks run one after the other. A thread of its own moves messages along while the others compute,
// whatever MPI does on its own account, and needs no more of MPI than MPI_THREAD_FUNNELED.
#pragma once

#include <mpi.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>

#include "base/error.h"
#include "dist/mpi/peers.h"

namespace dashlm {

class MpiThread {
 public:
  // Initialises MPI.
  MpiThread();
  // Finalises MPI once all tasks are through; every rank must get here.
  ~MpiThread();
  MpiThread(const MpiThread&) = delete;
  MpiThread& operator=(const MpiThread&) = delete;

  using Task = std::function<void()>;
  // Runs `task` after those before it. The future is for any number of waits.
  std::shared_future<void> submit(Task task);
  // Waits for `result`; meanwhile messages are attended to without pause.
  void wait(const std::shared_future<void>& result);

  // For tasks: returns when `request` is complete.
  void complete(MPI_Request& request);
  // For tasks: processes whose death is to be noticed, also while there is nothing to do; it ends
  // all ranks. (A GPU that waits for a dead rank's message would wait for ever.)
  void watch(Peers peers) { peers_ = std::move(peers); }
  // What the constructor's caller has given to watch(); not before that is through.
  const Peers& peers() const { return peers_; }

  // Ends all ranks from any thread, even while a task waits. Returns if MPI does not manage to.
  void abort(ExitCode exit_code);

 private:
  void run();
  // The next task; false once there will be none.
  bool next_task(std::packaged_task<void()>& task);
  void look_after_peers();
  void abort_if_asked();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  bool stop_ = false;
  std::atomic<int> waiting_ = 0;      // threads in wait()
  std::atomic<int> abort_code_ = -1;  // of abort()
  Peers peers_;
  std::thread thread_;
};

}  // namespace dashlm
