//===- thread_pool.cpp - A gang of threads that walk the same jobs --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The worker's loop and the ring of published jobs.
//
//===----------------------------------------------------------------------===//
#include "thread_pool.h"

#include "cpu_count.h"

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
    : options(options), counters(new Counter[options.num_workers]) {
  try {
    for (uint32_t worker = 1; worker < options.num_workers; ++worker)
      threads.emplace_back(&ThreadPool::work, this, worker);
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

void ThreadPool::work(uint32_t worker) {
  char name[16] = "tinh-worker";
  pthread_setname_np(pthread_self(), name);
  if (options.pin)
    pin_this_thread(worker);
  for (uint32_t number = 0;; ++number) {
    published.wait(number + 1, options.spin);
    Job *job = jobs[number % kMaxJobs];
    if (!job)
      return;
    job->run(worker);
  }
}

} // namespace tinh::runtime
