//===- thread_pool.h - A gang of threads that walk the same jobs ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every worker of the pool takes part in every job, in the order in which they
// are published. Worker 0 is whatever thread publishes: it runs its own part
// itself. Workers tell how far they have come by progress counters, which is
// all that they synchronise by; nobody waits for the others at the end of a
// job.
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_THREAD_POOL_H
#define TINH_RUNTIME_THREAD_POOL_H

#include "futex.h"

#include <memory>
#include <thread>
#include <vector>

namespace tinh::runtime {

class ThreadPool {
public:
  struct Options {
    uint32_t num_workers = 1; ///< With worker 0, which is not a thread of ours.
    bool pin = false;
    std::chrono::microseconds spin{0};
  };

  /// What the workers run. It must stay alive until all of them are done with
  /// it, which the job finds out itself.
  class Job {
  public:
    virtual void run(uint32_t worker) = 0;

  protected:
    ~Job() = default;
  };

  explicit ThreadPool(const Options &options);
  ~ThreadPool();

  uint32_t num_workers() const { return options.num_workers; }
  std::chrono::microseconds spin() const { return options.spin; }

  /// Has workers 1 and up run `job`; the caller, who is worker 0 at this time,
  /// then does its part. At most kMaxJobs - 1 jobs may be unfinished.
  void publish(Job *job);

  /// Says that `worker` has come to `progress`.
  void advance(uint32_t worker, uint32_t progress) {
    counters[worker].store(progress);
  }

  uint32_t progress(uint32_t worker) const { return counters[worker].load(); }

  /// Waits until all workers but `worker` have come to `progress`.
  void wait_for_others(uint32_t worker, uint32_t progress) {
    for (uint32_t other = 0; other < options.num_workers; ++other)
      if (other != worker)
        counters[other].wait(progress, options.spin);
  }

  static constexpr uint32_t kMaxJobs = 8;

private:
  void work(uint32_t worker);
  void stop();

  Options options;
  std::unique_ptr<Counter[]> counters; ///< One for each worker.
  Counter published;
  Job *jobs[kMaxJobs] = {}; ///< Job n is at n % kMaxJobs; null: stop.
  std::vector<std::thread> threads;
};

/// Binds the calling thread to the `index`th CPU of its affinity mask. It is
/// advice: a failure changes speed only.
void pin_this_thread(uint32_t index);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_THREAD_POOL_H
