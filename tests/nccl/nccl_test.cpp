//===- nccl_test.cpp - Collectives over NCCL --------------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two ranks are threads of this process, on the fake GPU and a fake NCCL.
//
//===----------------------------------------------------------------------===//
#include "runtime/nccl/communicator.h"
#include "tests/nccl/thread_ranks.h"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>

using namespace tinh::nccl;
using namespace tinh::runtime::cuda;
using testing::HasSubstr;
using tinh::tests::Host;
using tinh::tests::Meeting;

namespace {

struct Rank {
  Communicator &ranks;
  Host &host;
  CUstream stream = nullptr;

  float *upload(const std::vector<float> &values) {
    CUdeviceptr data = 0;
    driver().cuMemAlloc_v2(&data, values.size() * 4);
    driver().cuMemcpyHtoD_v2(data, values.data(), values.size() * 4);
    driver().cuStreamSynchronize(nullptr); // Until it has arrived.
    return reinterpret_cast<float *>(data);
  }
  std::vector<float> download(const float *data, size_t count) {
    std::vector<float> values(count);
    driver().cuMemcpyDtoH_v2(values.data(), CUdeviceptr(data), count * 4);
    return values;
  }
};

/// Does `body` on two ranks at the same time.
void on_two(const std::function<void(Rank &)> &body,
            Clock::duration timeout = std::chrono::seconds(30)) {
  Meeting meeting;
  std::vector<std::thread> threads;
  for (uint32_t number : {0u, 1u})
    threads.emplace_back([&, number] {
      Host host(meeting, number);
      CUcontext context = nullptr;
      driver().cuDevicePrimaryCtxRetain(&context, 0);
      driver().cuCtxPushCurrent_v2(context);
      {
        Communicator ranks(&host, timeout);
        Rank rank{ranks, host};
        driver().cuStreamCreate(&rank.stream, kStreamNonBlocking);
        meeting.all.arrive_and_wait(); // None fails while one still joins.
        body(rank);
        driver().cuStreamDestroy_v2(rank.stream);
      }
      driver().cuCtxPopCurrent_v2(&context);
    });
  for (std::thread &thread : threads)
    thread.join();
}

tinh_collective_t of(tinh_collective_kind_t kind, tinh_reduction_t reduction,
                     uint64_t count, const void *input, void *output) {
  return {kind, reduction, TINH_DTYPE_F32, TINH_DTYPE_F32,
          1,    count,     input,          output};
}

std::vector<float> run(Rank &rank, const tinh_collective_t &collective,
                       size_t outputs) {
  uint64_t ticket = 0;
  EXPECT_STREQ(rank.ranks.begin(collective, rank.stream, ticket), nullptr);
  EXPECT_STREQ(rank.ranks.finish(ticket), nullptr);
  return rank.download(static_cast<float *>(collective.output), outputs);
}

using Floats = std::vector<float>;

TEST(NcclTest, ComputesAllKinds) {
  on_two([](Rank &rank) {
    float r = float(rank.host.rank);
    float *input = rank.upload({1 + r, 2 + r, 5 + r, 7 + r});
    float *output = rank.upload({0, 0, 0, 0, 0, 0, 0, 0});
    EXPECT_EQ(
        run(rank, of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 4, input, output), 4),
        (Floats{3, 5, 11, 15}));
    EXPECT_EQ(run(rank,
                  of(TINH_REDUCE_SCATTER, TINH_REDUCE_MEAN, 2, input, output),
                  2),
              r == 0 ? (Floats{1.5, 2.5}) : (Floats{5.5, 7.5}));
    EXPECT_EQ(
        run(rank, of(TINH_ALL_GATHER, TINH_REDUCE_SUM, 4, input, output), 8),
        (Floats{1, 2, 5, 7, 2, 3, 6, 8}));
    EXPECT_EQ(
        run(rank, of(TINH_BROADCAST, TINH_REDUCE_SUM, 4, input, output), 4),
        (Floats{2, 3, 6, 8}));
    EXPECT_EQ(
        run(rank, of(TINH_ALL_REDUCE, TINH_REDUCE_MEAN, 4, input, input), 4),
        (Floats{1.5, 2.5, 5.5, 7.5}));
  });
}

/// Each sum is rounded to 8 bits, to the even neighbour of two.
TEST(NcclTest, AddsBfloat16) {
  on_two([](Rank &rank) {
    bool first = rank.host.rank == 0;
    std::vector<uint16_t> own = first ? std::vector<uint16_t>{0x3f80, 0x3f80}
                                      : std::vector<uint16_t>{0x4000, 0x3b80};
    std::vector<float> words(1); // 1 + 2, 1 + 2^-8.
    std::memcpy(words.data(), own.data(), 4);
    float *data = rank.upload(words);
    auto c = of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data);
    c.dtype = c.communication_dtype = TINH_DTYPE_BF16;
    std::vector<float> sums = run(rank, c, 1);
    std::memcpy(own.data(), sums.data(), 4);
    EXPECT_EQ(own, (std::vector<uint16_t>{0x4040, 0x3f80}));
  });
}

/// The fake GPU runs what nothing orders in another order than it was queued
/// in.
TEST(NcclTest, IsOrderedWithTheStream) {
  on_two([](Rank &rank) {
    float *data = rank.upload({0, 0});
    float *result = rank.upload({0, 0});
    driver().cuMemsetD32Async(CUdeviceptr(data), 0x40000000, 2, rank.stream);
    uint64_t ticket = 0;
    ASSERT_STREQ(
        rank.ranks.begin(of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data),
                         rank.stream, ticket),
        nullptr);
    ASSERT_STREQ(rank.ranks.order(ticket, rank.stream), nullptr);
    driver().cuMemcpyAsync(CUdeviceptr(result), CUdeviceptr(data), 8,
                           rank.stream);
    driver().cuStreamSynchronize(rank.stream);
    EXPECT_EQ(rank.download(result, 2), (Floats{4, 4}));
    EXPECT_STREQ(rank.ranks.finish(ticket), nullptr);
    EXPECT_THAT(rank.ranks.finish(ticket), HasSubstr("no collective"));
  });
}

/// A collective in a graph, and the graph.
class Captured {
public:
  Captured(Rank &rank, const tinh_collective_t &collective) : rank(rank) {
    driver().cuStreamBeginCapture_v2(rank.stream, kCaptureRelaxed);
    error = rank.ranks.capture(collective, rank.stream, ticket);
    driver().cuStreamEndCapture(rank.stream, &graph);
    driver().cuGraphInstantiateWithFlags(&exec, graph, 0);
  }
  ~Captured() {
    driver().cuStreamSynchronize(rank.stream);
    driver().cuGraphExecDestroy(exec);
    driver().cuGraphDestroy(graph);
  }

  void launch() const {
    EXPECT_STREQ(rank.ranks.launch(ticket, rank.stream), nullptr);
    driver().cuGraphLaunch(exec, rank.stream);
  }

  Rank &rank;
  const char *error;
  uint64_t ticket = 0;

private:
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
};

TEST(NcclTest, EachLaunchOfAGraphComputesWhatItHas) {
  on_two([](Rank &rank) {
    float *data = rank.upload({1, 2}), *other = rank.upload({3});
    auto c = of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data);
    Captured captured(rank, c);
    ASSERT_STREQ(captured.error, nullptr);
    EXPECT_EQ(rank.download(data, 2), (Floats{1, 2})); // Nothing is done yet.
    for (float factor : {2.F, 4.F, 8.F}) {
      captured.launch();
      EXPECT_EQ(
          run(rank, of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 1, other, other), 1),
          Floats{3 * factor});
      EXPECT_STREQ(rank.ranks.finish(captured.ticket), nullptr);
      EXPECT_EQ(rank.download(data, 2), (Floats{factor, 2 * factor}));
    }
    EXPECT_STREQ(rank.ranks.release(captured.ticket), nullptr);
    EXPECT_THAT(rank.ranks.launch(captured.ticket, rank.stream),
                HasSubstr("no collective"));
  });
}

/// That an earlier launch was done is not taken for this one.
TEST(NcclTest, AGraphWhoseOtherRankIsGoneEndsAtTheTimeout) {
  on_two(
      [](Rank &rank) {
        float *data = rank.upload({1, 2});
        Captured captured(rank,
                          of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data));
        captured.launch();
        EXPECT_STREQ(rank.ranks.finish(captured.ticket), nullptr);
        if (rank.host.rank == 1)
          return;
        captured.launch();
        EXPECT_THAT(rank.ranks.finish(captured.ticket),
                    HasSubstr("rank 0: all-reduce 1 (2 elements) was not done "
                              "at the timeout"));
      },
      std::chrono::milliseconds(200));
}

TEST(NcclTest, RegistersMemory) {
  on_two([](Rank &rank) {
    float *data = rank.upload({0, 0});
    void *memory = nullptr;
    EXPECT_STREQ(rank.ranks.add_memory(data, 8, memory), nullptr);
    EXPECT_STREQ(rank.ranks.remove_memory(memory), nullptr);
    EXPECT_THAT(rank.ranks.remove_memory(memory), HasSubstr("releasing"));
  });
}

TEST(NcclTest, RefusesWhatNcclComputesOtherwise) {
  on_two([](Rank &rank) {
    float *data = rank.upload({1, 2});
    uint64_t ticket = 0;
    auto c = of(TINH_ALL_REDUCE, TINH_REDUCE_MAX, 2, data, data);
    EXPECT_THAT(rank.ranks.begin(c, rank.stream, ticket), HasSubstr("NaN"));
    c.reduction = TINH_REDUCE_SUM;
    c.communication_dtype = TINH_DTYPE_BF16;
    EXPECT_THAT(rank.ranks.begin(c, rank.stream, ticket),
                HasSubstr("--communication-dtype"));
    c.communication_dtype = TINH_DTYPE_F32; // Nothing has failed.
    EXPECT_EQ(run(rank, c, 2), (Floats{2, 4}));
  });
}

TEST(NcclTest, OtherCollectivesOnOneRankFail) {
  on_two([](Rank &rank) {
    float *data = rank.upload({1, 2});
    uint64_t ticket = 0;
    uint64_t count = 1 + rank.host.rank;
    const char *error = rank.ranks.begin(
        of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, count, data, data), rank.stream,
        ticket);
    EXPECT_THAT(error, HasSubstr("rank " + std::to_string(rank.host.rank) +
                                 ": all-reduce 1 ("));
    EXPECT_EQ(rank.host.aborted, error); // MPI tells the other ranks.
    EXPECT_STREQ(rank.ranks.finish(ticket), error);
  });
}

TEST(NcclTest, AbortAndTimeoutEndWhatWaits) {
  on_two(
      [](Rank &rank) {
        float *data = rank.upload({1, 2});
        uint64_t ticket = 0;
        if (rank.host.rank == 1)
          return rank.ranks.abort(&rank.ranks, "rank 1: gives up");
        EXPECT_THAT(rank.ranks.begin(
                        of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data),
                        rank.stream, ticket),
                    HasSubstr("rank 0: all-reduce 1"));
      },
      std::chrono::milliseconds(200));
}

/// The fake GPU does one thing for each question whether it is done; rank 1
/// asks when all is.
TEST(NcclTest, WhatTheStreamDoesBeforeTakesNoTime) {
  on_two(
      [](Rank &rank) {
        float *data = rank.upload({2, 2});
        for (int i = 0; i < 20000 && rank.host.rank == 0; ++i)
          driver().cuMemsetD32Async(CUdeviceptr(data), 0x40000000, 2,
                                    rank.stream);
        uint64_t ticket = 0;
        rank.host.meeting.all.arrive_and_wait(); // Giving it takes time, too.
        EXPECT_STREQ(rank.ranks.begin(
                         of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data),
                         rank.stream, ticket),
                     nullptr);
        if (rank.host.rank == 1)
          rank.host.meeting.all.arrive_and_wait();
        EXPECT_STREQ(rank.ranks.finish(ticket), nullptr);
        if (rank.host.rank == 0)
          rank.host.meeting.all.arrive_and_wait();
        EXPECT_EQ(rank.download(data, 2), (Floats{4, 4}));
      },
      std::chrono::milliseconds(500));
}

TEST(NcclTest, WhoWaitsHearsFromMpi) {
  on_two([](Rank &rank) {
    float *data = rank.upload({1, 2});
    uint64_t ticket = 0;
    if (rank.host.rank == 1)
      return;
    rank.host.heard = "rank 1 has died";
    EXPECT_STREQ(
        rank.ranks.begin(of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data),
                         rank.stream, ticket),
        "rank 1 has died");
  });
}

TEST(NcclTest, WhoWaitsKeepsNobodyFromGivingUp) {
  on_two([](Rank &rank) {
    float *data = rank.upload({1, 2});
    uint64_t ticket = 0;
    if (rank.host.rank == 1)
      return;
    std::thread other([&] { rank.ranks.abort(&rank.ranks, "no more"); });
    EXPECT_STREQ(
        rank.ranks.begin(of(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 2, data, data),
                         rank.stream, ticket),
        "no more");
    other.join();
  });
}

TEST(NcclTest, AnOldVersionIsRefused) {
  setenv("TINH_FAKE_NCCL_VERSION", "21805", 1);
  Meeting meeting;
  std::thread other;
  auto join = [&](uint32_t number) {
    Host host(meeting, number);
    try {
      Communicator ranks(&host, std::chrono::seconds(30));
      ADD_FAILURE() << "joined";
    } catch (const std::exception &error) {
      EXPECT_THAT(error.what(), HasSubstr("NCCL is too old"));
      EXPECT_THAT(error.what(), HasSubstr("rank " + std::to_string(number)));
    }
  };
  other = std::thread(join, 1);
  join(0);
  other.join();
  unsetenv("TINH_FAKE_NCCL_VERSION");
}

} // namespace
