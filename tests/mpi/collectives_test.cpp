//===- collectives_test.cpp - Collectives of several processes ------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Each rank runs this program: mpirun -n 3 collectives_test LIBRARY. All know
// what the others send, and so what has to come out, to the bit.
//
//===----------------------------------------------------------------------===//
#include "tinh/collectives.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <random>
#include <thread>
#include <type_traits>
#include <unistd.h>

namespace {

tinh_collectives_t *collectives = nullptr;

template <typename T> constexpr tinh_dtype_t kType = TINH_DTYPE_F32;
template <> constexpr tinh_dtype_t kType<double> = TINH_DTYPE_F64;
template <> constexpr tinh_dtype_t kType<int32_t> = TINH_DTYPE_I32;
template <> constexpr tinh_dtype_t kType<int64_t> = TINH_DTYPE_I64;
template <> constexpr tinh_dtype_t kType<uint8_t> = TINH_DTYPE_U8;
template <> constexpr tinh_dtype_t kType<_Float16> = TINH_DTYPE_F16;

/// What `rank` has for the collective `seed`: up to 100, and from -100 if there
/// are such. (The standard's distributions take most of the test's time.)
template <typename T>
std::vector<T> numbers(uint32_t rank, uint32_t seed, size_t count) {
  std::minstd_rand random(1 + rank * 1000 + seed);
  const float least = std::is_unsigned_v<T> ? 0 : -100;
  const float scale = (100 - least) / static_cast<float>(random.max());
  std::vector<T> result(count);
  for (T &x : result)
    x = static_cast<T>(least + scale * static_cast<float>(random()));
  return result;
}

template <typename T> struct Case {
  tinh_collective_t collective = {};
  std::vector<T> input, output, expected;
};

/// The sum in the order of the ranks.
template <typename T, typename Sum = T>
std::vector<T> reduced(uint32_t seed, size_t count,
                       tinh_reduction_t reduction) {
  std::vector<std::vector<T>> all;
  for (uint32_t rank = 0; rank < collectives->num_ranks; ++rank)
    all.push_back(numbers<T>(rank, seed, count));
  std::vector<T> result(count);
  for (size_t i = 0; i < count; ++i) {
    Sum sum = all[0][i];
    for (uint32_t rank = 1; rank < collectives->num_ranks; ++rank) {
      Sum x = all[rank][i];
      sum = reduction == TINH_REDUCE_MAX ? std::max(sum, x) : sum + x;
    }
    if (reduction == TINH_REDUCE_MEAN)
      sum /= static_cast<Sum>(collectives->num_ranks);
    result[i] = static_cast<T>(sum);
  }
  return result;
}

template <typename T, typename Sum = T>
Case<T> make(tinh_collective_kind_t kind, tinh_reduction_t reduction,
             uint32_t seed, size_t count) {
  uint32_t ranks = collectives->num_ranks, rank = collectives->rank;
  Case<T> c;
  c.collective.kind = kind;
  c.collective.reduction = reduction;
  c.collective.dtype = c.collective.communication_dtype = kType<T>;
  c.collective.count = count;
  size_t inputs = kind == TINH_REDUCE_SCATTER ? count * ranks : count;
  c.input = numbers<T>(rank, seed, inputs);
  c.output.resize(kind == TINH_ALL_GATHER ? count * ranks : count);
  switch (kind) {
  case TINH_ALL_REDUCE:
    c.expected = reduced<T, Sum>(seed, count, reduction);
    break;
  case TINH_REDUCE_SCATTER: {
    auto whole = reduced<T, Sum>(seed, inputs, reduction);
    c.expected.assign(whole.begin() + rank * count,
                      whole.begin() + (rank + 1) * count);
    break;
  }
  case TINH_ALL_GATHER:
    for (uint32_t r = 0; r < ranks; ++r)
      for (T x : numbers<T>(r, seed, count))
        c.expected.push_back(x);
    break;
  case TINH_BROADCAST:
    c.collective.root = seed % ranks;
    c.expected = numbers<T>(c.collective.root, seed, count);
    break;
  }
  return c;
}

uint64_t start(tinh_collective_t &collective, const void *input, void *output) {
  collective.input = input;
  collective.output = output;
  uint64_t ticket = 0;
  const char *error = collectives->start(collectives, &collective, &ticket);
  EXPECT_EQ(error, nullptr) << error;
  return ticket;
}

void wait(uint64_t ticket) {
  const char *error = collectives->wait(collectives, ticket);
  EXPECT_EQ(error, nullptr) << error;
}

template <typename T>
void expect_equal(const std::vector<T> &found, const std::vector<T> &expected,
                  const std::string &what) {
  ASSERT_EQ(found.size(), expected.size());
  EXPECT_EQ(
      std::memcmp(found.data(), expected.data(), found.size() * sizeof(T)), 0)
      << what;
}

const size_t kCounts[] = {0, 1, 2, 7, 1000, 3001, 100003};

template <typename T, typename Sum = T>
void check_all(tinh_collective_kind_t kind, tinh_reduction_t reduction) {
  uint32_t seed = 0;
  for (size_t count : kCounts) {
    auto c = make<T, Sum>(kind, reduction, ++seed, count);
    wait(start(c.collective, c.input.data(), c.output.data()));
    expect_equal(c.output, c.expected, std::to_string(count) + " elements");
  }
}

TEST(Collectives, ReduceInTheOrderOfRanks) {
  for (auto reduction : {TINH_REDUCE_SUM, TINH_REDUCE_MAX, TINH_REDUCE_MEAN}) {
    check_all<float>(TINH_ALL_REDUCE, reduction);
    check_all<double>(TINH_ALL_REDUCE, reduction);
    check_all<_Float16, float>(TINH_ALL_REDUCE, reduction);
    check_all<float>(TINH_REDUCE_SCATTER, reduction);
  }
  for (auto reduction : {TINH_REDUCE_SUM, TINH_REDUCE_MAX}) {
    check_all<int32_t>(TINH_ALL_REDUCE, reduction);
    check_all<int64_t>(TINH_REDUCE_SCATTER, reduction);
  }
}

TEST(Collectives, MoveWhatRanksHave) {
  check_all<uint8_t>(TINH_ALL_GATHER, TINH_REDUCE_SUM);
  check_all<double>(TINH_ALL_GATHER, TINH_REDUCE_SUM);
  check_all<float>(TINH_BROADCAST, TINH_REDUCE_SUM);
}

/// More than a round, and than one slot has place for.
TEST(Collectives, TakeWhatIsLarge) {
  for (auto kind : {TINH_ALL_REDUCE, TINH_REDUCE_SCATTER, TINH_ALL_GATHER,
                    TINH_BROADCAST}) {
    auto c = make<float>(kind, TINH_REDUCE_SUM, 11, 300007);
    wait(start(c.collective, c.input.data(), c.output.data()));
    expect_equal(c.output, c.expected, "kind " + std::to_string(kind));
  }
}

/// More elements than are sent at once.
TEST(Collectives, AreDivided) {
  uint32_t ranks = collectives->num_ranks, rank = collectives->rank;
  size_t count = 2500003;
  tinh_collective_t c = {};
  c.kind = TINH_ALL_GATHER;
  c.dtype = c.communication_dtype = TINH_DTYPE_U8;
  c.count = count;
  std::vector<uint8_t> own(count, uint8_t(rank + 1)), all(count * ranks);
  own.back() = 99;
  wait(start(c, own.data(), all.data()));
  for (size_t r = 0; r < ranks; ++r) {
    const uint8_t *part = &all[r * count];
    EXPECT_EQ(size_t(std::count(part, part + count, uint8_t(r + 1))),
              count - 1);
    EXPECT_EQ(part[count - 1], 99);
  }
  c.kind = TINH_REDUCE_SCATTER;
  c.dtype = c.communication_dtype = TINH_DTYPE_I32;
  std::vector<int32_t> input(count * ranks), sum(count), expected(count);
  std::iota(input.begin(), input.end(), rank);
  for (size_t i = 0; i < count; ++i)
    expected[i] = static_cast<int32_t>(ranks * (rank * count + i) +
                                       ranks * (ranks - 1) / 2);
  wait(start(c, input.data(), sum.data()));
  expect_equal(sum, expected, "a part of the sum");
}

/// Through shared memory, more rounds than a rank has slots.
TEST(Collectives, UseSlotsAgain) {
  auto ranks = static_cast<int32_t>(collectives->num_ranks),
       rank = static_cast<int32_t>(collectives->rank);
  std::vector<int32_t> x(2500003), expected(x.size());
  for (int32_t i = 0; i < static_cast<int32_t>(x.size()); ++i) {
    x[static_cast<size_t>(i)] = i + rank;
    expected[static_cast<size_t>(i)] = ranks * i + ranks * (ranks - 1) / 2;
  }
  tinh_collective_t sum = {};
  sum.dtype = sum.communication_dtype = TINH_DTYPE_I32;
  sum.count = x.size();
  wait(start(sum, x.data(), x.data()));
  expect_equal(x, expected, "the sum");
}

TEST(Collectives, WriteOverTheirInput) {
  for (size_t count : {size_t(10), size_t(50000), size_t(300007)})
    for (auto kind : {TINH_ALL_REDUCE, TINH_BROADCAST}) {
      auto c = make<float>(kind, TINH_REDUCE_SUM, 3, count);
      wait(start(c.collective, c.input.data(), c.input.data()));
      expect_equal(c.input, c.expected, std::to_string(count) + " elements");
    }
}

uint16_t bf16(float x) {
  auto bits = std::bit_cast<uint32_t>(x);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

float extended(uint16_t x) {
  return std::bit_cast<float>(static_cast<uint32_t>(x) << 16);
}

TEST(Collectives, SendFloatsAsBf16) {
  std::vector<size_t> counts(std::begin(kCounts), std::end(kCounts));
  counts.push_back(600011); // Of several rounds.
  for (size_t count : counts) {
    auto c = make<float>(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 5, count);
    std::vector<float> expected(count, 0);
    for (uint32_t rank = 0; rank < collectives->num_ranks; ++rank) {
      auto part = numbers<float>(rank, 5, count);
      for (size_t i = 0; i < count; ++i)
        expected[i] += extended(bf16(part[i]));
    }
    for (float &x : expected)
      x = extended(bf16(x));
    c.collective.communication_dtype = TINH_DTYPE_BF16;
    wait(start(c.collective, c.input.data(), c.output.data()));
    expect_equal(c.output, expected, std::to_string(count) + " elements");
  }
}

TEST(Collectives, KeepNaNsOfMaxima) {
  std::vector<float> x = {1, 2, 3};
  if (collectives->rank == collectives->num_ranks - 1)
    x[1] = std::numeric_limits<float>::quiet_NaN();
  tinh_collective_t collective = {};
  collective.reduction = TINH_REDUCE_MAX;
  collective.dtype = collective.communication_dtype = TINH_DTYPE_F32;
  collective.count = x.size();
  wait(start(collective, x.data(), x.data()));
  EXPECT_EQ(x[0], 1);
  EXPECT_TRUE(std::isnan(x[1]));
  EXPECT_EQ(x[2], 3);
}

TEST(Collectives, RunSideBySide) {
  std::vector<Case<float>> cases;
  std::vector<uint64_t> tickets;
  tinh_collective_kind_t kinds[] = {TINH_ALL_REDUCE, TINH_ALL_GATHER,
                                    TINH_REDUCE_SCATTER, TINH_BROADCAST};
  std::minstd_rand random(7); // The same on all ranks.
  for (uint32_t i = 0; i < 200; ++i)
    cases.push_back(
        make<float>(kinds[random() % 4], TINH_REDUCE_SUM, i,
                    random() % 3 ? random() % 100 : random() % 20000));
  for (auto &c : cases)
    tickets.push_back(start(c.collective, c.input.data(), c.output.data()));
  // They are waited for in another order, by several threads.
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = tickets.size(); i-- > 0;)
        if (i % 4 == t)
          wait(tickets[i]);
    });
  for (auto &thread : threads)
    thread.join();
  for (size_t i = 0; i < cases.size(); ++i)
    expect_equal(cases[i].output, cases[i].expected,
                 "collective " + std::to_string(i));
}

TEST(Collectives, AreRefusedByWhatIsWrong) {
  float x = 0;
  auto refusal = [&](tinh_collective_t collective) {
    collective.input = collective.output = &x;
    uint64_t ticket;
    const char *error = collectives->start(collectives, &collective, &ticket);
    return std::string(error ? error : "none");
  };
  tinh_collective_t good = {};
  good.dtype = good.communication_dtype = TINH_DTYPE_F32;
  good.count = 1;
  auto c = good;
  c.dtype = c.communication_dtype = TINH_DTYPE_U8;
  EXPECT_EQ(refusal(c), "all-reduce of 1 elements of u8: elements of this type "
                        "are not reduced so");
  c = good;
  c.dtype = c.communication_dtype = TINH_DTYPE_I32;
  c.reduction = TINH_REDUCE_MEAN;
  EXPECT_EQ(refusal(c), "all-reduce of 1 elements of i32: elements of this "
                        "type are not reduced so");
  c = good;
  c.communication_dtype = TINH_DTYPE_F16;
  EXPECT_EQ(refusal(c), "all-reduce of 1 elements of f32: it cannot be sent as "
                        "f16: reductions of f32 may be, as bf16");
  c = good;
  c.kind = TINH_BROADCAST;
  c.root = 99;
  EXPECT_EQ(refusal(c), "broadcast of 1 elements of f32: its root is rank 99 "
                        "of " +
                            std::to_string(collectives->num_ranks));
  EXPECT_STREQ(collectives->wait(collectives, 1 << 30),
               "there is no collective to wait for with ticket 1073741824");
}

TEST(Collectives, KnowTheirMachine) {
  EXPECT_EQ(collectives->struct_size, sizeof(tinh_collectives_t));
  EXPECT_EQ(collectives->num_local_ranks, collectives->num_ranks);
  EXPECT_EQ(collectives->local_rank, collectives->rank);
  const char *wanted = std::getenv("TINH_MPI_SHARED_MEMORY");
  bool shares = !wanted || std::string(wanted) != "off";
  std::string library = collectives->library;
  EXPECT_NE(library, "");
  EXPECT_EQ(library.find(", shared memory") != library.npos, shares) << library;
  // Together they have no more than there are.
  double cpus = collectives->cpus;
  EXPECT_GT(cpus, 0);
  tinh_collective_t sum = {};
  sum.kind = TINH_ALL_REDUCE;
  sum.reduction = TINH_REDUCE_SUM;
  sum.dtype = sum.communication_dtype = TINH_DTYPE_F64;
  sum.count = 1;
  wait(start(sum, &cpus, &cpus));
  // Of the machine, not of those that this rank is bound to.
  EXPECT_LE(cpus, static_cast<double>(sysconf(_SC_NPROCESSORS_ONLN)) + 1e-9);
}

TEST(Collectives, TellWhenTheyWereFinished) {
  auto now = [] {
    return std::chrono::nanoseconds(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  };
  auto c = make<float>(TINH_ALL_REDUCE, TINH_REDUCE_SUM, 1, 1000);
  int64_t before = now(), finished = 0;
  uint64_t ticket = start(c.collective, c.input.data(), c.output.data());
  const char *error = collectives->wait_timed(collectives, ticket, &finished);
  EXPECT_EQ(error, nullptr) << error;
  EXPECT_LE(before, finished);
  EXPECT_LE(finished, now());
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW) : nullptr;
  if (!library) {
    std::fprintf(stderr, "usage: collectives_test LIBRARY (%s)\n", dlerror());
    return 2;
  }
  auto create = reinterpret_cast<tinh_collectives_create_t>(
      dlsym(library, TINH_COLLECTIVES_CREATE));
  if (const char *error = create(nullptr, &collectives)) {
    std::fprintf(stderr, "%s\n", error);
    return 1;
  }
  int result = RUN_ALL_TESTS();
  collectives->destroy(collectives);
  return result;
}
