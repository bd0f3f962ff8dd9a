//===- thread_pool.h - A gang of threads that walk the same jobs ----------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Every worker has a part in every job, and walks these in the order in which
// they are published. Worker 0 is whatever thread publishes: it walks its own
// part itself. Workers tell how far they have come by progress counters, which
// is all that they synchronise by; nobody waits for the others at the end of a
// job.
//
// Other programs may take a worker's CPU at any time, and waking a thread takes
// longer than a small job. So a thread that has to wait for an absent worker
// visits its part, and walks it as far as it needs, or until the worker is back
// and wants it. What belongs to a part, it finds in memory that is the part's.
//
// A worker that is only late is helped: it takes a long range of work in parts
// that get smaller, from the front, and whoever waits for it takes from the
// back (guided self-scheduling: Polychronopoulos and Kuck, 1987).
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_THREAD_POOL_H
#define TINH_RUNTIME_THREAD_POOL_H

#include "shared/futex.h"

#include <algorithm>
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

  /// What a thread is to do that walks the part of another worker.
  class Visit {
  public:
    Visit(uint32_t visitor, const OwnedLock &lock, const Counter &counter,
          uint32_t progress)
        : visitor(visitor), lock(lock), counter(counter), progress(progress) {}
    const uint32_t visitor; ///< Whose thread it is.
    /// Whether it is to leave now.
    bool is_over() const {
      return lock.is_wanted() || counter.reached(progress);
    }

  private:
    const OwnedLock &lock;
    const Counter &counter;
    uint32_t progress;
  };

  /// Why a part is not walked any further.
  struct Halt {
    enum Reason { done, waits, left } reason;
    uint32_t progress = 0; ///< If it waits: of the others.
  };

  /// What the workers walk. It must stay alive until all parts are done, which
  /// the job finds out itself. One thread at a time is in a worker's part.
  class Job {
  public:
    /// Called once for each worker, before its part is walked.
    virtual void begin(uint32_t worker) = 0;
    /// Goes on with a worker's part, as its visitor if there is a visit.
    virtual Halt go_on(uint32_t worker, const Visit *visit) = 0;

  protected:
    ~Job() = default;
  };

  /// Work on a range, which any thread may do.
  class Task {
  public:
    /// `thread`: whose thread calls; no other one does with this number.
    virtual void run(uint32_t thread, int64_t begin, int64_t end) = 0;

  protected:
    ~Task() = default;
  };

  explicit ThreadPool(const Options &options);
  ~ThreadPool();

  uint32_t num_workers() const { return options.num_workers; }
  std::chrono::microseconds spin() const { return options.spin; }

  /// Has all workers walk `job`, and the caller, who is worker 0 at this time,
  /// do so at once. Returns when its part is done. At most kMaxJobs - 1 jobs
  /// may be unfinished.
  void run(Job &job);

  /// Says that `worker` has come to `progress`.
  void advance(uint32_t worker, uint32_t progress) {
    counters[worker].store(progress);
  }

  uint32_t progress(uint32_t worker) const { return counters[worker].load(); }

  /// Whether all workers but `worker` have come to `progress`.
  bool others_reached(uint32_t worker, uint32_t progress) const {
    for (uint32_t other = 0; other < options.num_workers; ++other)
      if (other != worker && !counters[other].reached(progress))
        return false;
    return true;
  }

  /// Waits until they have; for the thread of `worker`, outside of its part.
  void wait_for_others(uint32_t worker, uint32_t progress);

  /// Has the range done, by this thread, which is in the part of `worker`, and
  /// by those that wait for it, in ranges of at least `grain`; 0: by this one.
  void divide(uint32_t worker, const Visit *visit, Task &task, int64_t begin,
              int64_t end, int64_t grain) {
    uint32_t thread = visit ? visit->visitor : worker;
    if (grain == 0 || end - begin <= grain || options.num_workers == 1)
      task.run(thread, begin, end);
    else
      share(shares[worker], thread, task, begin, end, grain);
  }

  static constexpr uint32_t kMaxJobs = 8;

private:
  /// A worker's place in the jobs.
  struct alignas(64) Part {
    OwnedLock lock;
    // Guarded by it.
    uint32_t job = 0; ///< That it is in, or comes to next.
    bool has_begun = false;
    /// The worker's thread sleeps, or did not come when it was waited for.
    std::atomic<bool> is_absent{true};
  };

  /// A range that is being divided: pieces of `grain`, the last one shorter.
  struct alignas(64) Share {
    /// The pieces that nobody has taken, and a number for each range: whoever
    /// takes some of them knows what is below to be of the same range.
    struct Left {
      uint32_t range;
      uint16_t begin, end;
    };
    std::atomic<Left> left{Left{}};
    std::atomic<uint32_t> returned{0}; ///< Pieces that others have done.
    Task *task = nullptr;
    int64_t begin = 0, end = 0, grain = 0;

    bool has_left() const {
      Left now = left.load(std::memory_order_relaxed);
      return now.begin < now.end;
    }
    void run(uint32_t thread, uint32_t from, uint32_t to) const {
      task->run(thread, begin + from * grain,
                std::min(begin + to * grain, end));
    }
  };

  void share(Share &share, uint32_t thread, Task &task, int64_t begin,
             int64_t end, int64_t grain);
  bool help(uint32_t thread, uint32_t worker);
  void work(uint32_t worker);
  void publish(Job *job);
  bool walk(uint32_t worker, uint32_t job);
  Halt go_on(Part &part, uint32_t worker, const Visit *visit);
  void wait_for(uint32_t worker, uint32_t other, uint32_t progress);
  bool visit_others(uint32_t worker, uint32_t progress);
  bool visit(uint32_t visitor, uint32_t worker, uint32_t progress);
  void sleep(uint32_t worker, Counter &counter, uint32_t target);
  void stop();

  Options options;
  std::unique_ptr<Counter[]> counters; ///< One for each worker.
  std::unique_ptr<Part[]> parts;       ///< The same.
  std::unique_ptr<Share[]> shares;     ///< The same.
  Counter published;
  Job *jobs[kMaxJobs] = {}; ///< Job n is at n % kMaxJobs; null: stop.
  std::vector<std::thread> threads;
};

/// Binds the calling thread to the `index`th CPU of its affinity mask. It is
/// advice: a failure changes speed only.
void pin_this_thread(uint32_t index);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_THREAD_POOL_H
