//===- thread_pool.cpp - A gang of threads that walk the same jobs --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The workers' loop, the ring of published jobs, and visits.
//
//===----------------------------------------------------------------------===//
#include "threads/thread_pool.h"

#include "shared/cpu_count.h"
#include "threads/start_thread.h"

#include <pthread.h>
#include <sched.h>

namespace tinh::runtime {

void pin_this_thread(uint32_t index) {
  std::vector<int> cpus = affinity_cpus();
  if (cpus.empty())
    return;
  int cpu = cpus[index % cpus.size()];
  cpu_set_t *set = CPU_ALLOC(cpu + 1);
  if (!set)
    return;
  size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
  CPU_ZERO_S(bytes, set);
  CPU_SET_S(cpu, bytes, set);
  pthread_setaffinity_np(pthread_self(), bytes, set);
  CPU_FREE(set);
}

ThreadPool::ThreadPool(const Options &options)
    : options(options), counters(new Counter[options.num_workers]),
      parts(new Part[options.num_workers]),
      shares(new Share[options.num_workers]) {
  try {
    threads.reserve(options.num_workers); // No thread must get lost.
    for (uint32_t worker = 1; worker < options.num_workers; ++worker)
      threads.push_back(start_thread("thread " + std::to_string(worker + 1) +
                                         " of " +
                                         std::to_string(options.num_workers),
                                     &ThreadPool::work, this, worker));
  } catch (...) {
    stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::stop() {
  publish(nullptr);
  for (std::thread &thread : threads)
    thread.join();
}

void ThreadPool::publish(Job *job) {
  uint32_t number = published.load();
  jobs[number % kMaxJobs] = job;
  published.store(number + 1);
}

void ThreadPool::run(Job &job) {
  if (options.num_workers == 1) { // Who never waits.
    job.begin(0);
    job.go_on(0, nullptr);
    return;
  }
  uint32_t number = published.load();
  publish(&job);
  walk(0, number);
}

void ThreadPool::work(uint32_t worker) {
  char name[16] = "tinh-worker";
  pthread_setname_np(pthread_self(), name);
  if (options.pin)
    pin_this_thread(worker);
  uint32_t job = 0;
  do {
    if (!published.spin_for(job + 1, options.spin))
      sleep(worker, published, job + 1);
  } while (walk(worker, job++));
}

/// Walks the part of the calling thread's worker in a published job to its end,
/// unless visitors do. False if the job is the end of all.
bool ThreadPool::walk(uint32_t worker, uint32_t job) {
  Part &part = parts[worker];
  for (;;) {
    part.lock.lock(options.spin);
    part.is_absent.store(false, std::memory_order_relaxed);
    bool is_there = part.job == job;
    if (is_there && !jobs[job % kMaxJobs]) {
      part.lock.unlock();
      return false;
    }
    Halt halt = is_there ? go_on(part, worker, nullptr) : Halt{Halt::done};
    part.lock.unlock();
    if (halt.reason == Halt::done)
      return true;
    wait_for_others(worker, halt.progress);
  }
}

/// With the part's lock.
ThreadPool::Halt ThreadPool::go_on(Part &part, uint32_t worker,
                                   const Visit *visit) {
  Job *job = jobs[part.job % kMaxJobs];
  if (!part.has_begun)
    job->begin(worker);
  Halt halt = job->go_on(worker, visit);
  part.has_begun = halt.reason != Halt::done;
  part.job += halt.reason == Halt::done;
  return halt;
}

void ThreadPool::wait_for_others(uint32_t worker, uint32_t progress) {
  for (uint32_t other = 0; other < options.num_workers; ++other)
    if (other != worker)
      wait_for(worker, other, progress);
}

void ThreadPool::wait_for(uint32_t worker, uint32_t other, uint32_t progress) {
  Counter &counter = counters[other];
  auto may_go_on = [&] {
    return counter.reached(progress) || shares[other].has_left();
  };
  while (!counter.reached(progress)) {
    if (help(worker, other))
      continue;
    if (parts[other].is_absent.load(std::memory_order_relaxed) &&
        visit(worker, other, progress))
      continue;
    if (!spin_until(options.spin, may_go_on) && !visit_others(worker, progress))
      sleep(worker, counter, progress);
  }
}

/// Whether any of them has come further by that.
bool ThreadPool::visit_others(uint32_t worker, uint32_t progress) {
  bool has_moved = false;
  for (uint32_t other = 0; other < options.num_workers; ++other)
    has_moved |= other != worker && visit(worker, other, progress);
  return has_moved;
}

/// Walks the part of another worker up to `progress`, if it can, or until its
/// own thread is back. Whether it has come further.
bool ThreadPool::visit(uint32_t visitor, uint32_t worker, uint32_t progress) {
  Part &part = parts[worker];
  if (counters[worker].reached(progress) || !part.lock.try_lock())
    return false;
  uint32_t before = counters[worker].load();
  Visit visit(visitor, part.lock, counters[worker], progress);
  while (!visit.is_over() && published.reached(part.job + 1) &&
         jobs[part.job % kMaxJobs] &&
         go_on(part, worker, &visit).reason == Halt::done) {
  }
  bool has_moved = counters[worker].load() != before;
  if (has_moved)
    part.is_absent.store(!part.lock.is_wanted(), std::memory_order_relaxed);
  part.lock.unlock();
  return has_moved;
}

/// The half of what is left, so that the last pieces are small.
void ThreadPool::share(Share &share, uint32_t thread, Task &task, int64_t begin,
                       int64_t end, int64_t grain) {
  grain = std::max(grain, (end - begin + UINT16_MAX - 1) / UINT16_MAX);
  auto count = static_cast<uint16_t>((end - begin + grain - 1) / grain);
  share.task = &task;
  share.begin = begin;
  share.end = end;
  share.grain = grain;
  share.returned.store(0, std::memory_order_relaxed);
  Share::Left left = share.left.load(std::memory_order_relaxed);
  left = {left.range + 1, 0, count};
  share.left.store(left, std::memory_order_release);
  uint32_t own = 0;
  while (left.begin < left.end) {
    auto middle = static_cast<uint16_t>((left.begin + left.end + 1) / 2);
    if (!share.left.compare_exchange_weak(left, {left.range, middle, left.end},
                                          std::memory_order_relaxed))
      continue;
    share.run(thread, left.begin, middle);
    own += middle - left.begin;
    left = share.left.load(std::memory_order_relaxed);
  }
  auto all_returned = [&] {
    return share.returned.load(std::memory_order_acquire) == count - own;
  };
  while (!spin_until(std::chrono::milliseconds(1), all_returned)) {
  }
}

/// Does some of what a worker has left; whether there was any.
bool ThreadPool::help(uint32_t thread, uint32_t worker) {
  Share &share = shares[worker];
  Share::Left left = share.left.load(std::memory_order_acquire);
  while (left.begin < left.end) {
    auto middle = static_cast<uint16_t>((left.begin + left.end) / 2);
    if (!share.left.compare_exchange_weak(
            left, {left.range, left.begin, middle}, std::memory_order_acquire))
      continue;
    share.run(thread, middle, left.end);
    share.returned.fetch_add(left.end - middle, std::memory_order_release);
    return true;
  }
  return false;
}

void ThreadPool::sleep(uint32_t worker, Counter &counter, uint32_t target) {
  parts[worker].is_absent.store(true, std::memory_order_relaxed);
  counter.sleep_until(target);
}

} // namespace tinh::runtime
