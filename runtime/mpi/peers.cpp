//===- peers.cpp - Which ranks are alive, and what they say ---------------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "peers.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <thread>

namespace tinh::mpi {

namespace {

using namespace std::chrono_literals;

bool is_complete(MPI_Request &request) {
  int complete = 0;
  check(MPI_Test(&request, &complete, MPI_STATUS_IGNORE), "MPI_Test");
  return complete;
}

} // namespace

std::string seconds(Clock::duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%g s",
                std::chrono::duration<double>(time).count());
  return text;
}

Peers::Peers(const Group &group, Clock::duration timeout)
    : group(group), timeout(timeout),
      interval(std::clamp<Clock::duration>(timeout / 8, 10ms, 1s)),
      heard(Clock::now()), sent(heard - interval) {
  receive();
}

void Peers::receive() {
  check(MPI_Irecv(&incoming, sizeof incoming, MPI_BYTE, MPI_ANY_SOURCE, 0,
                  group.control, &receiving),
        "MPI_Irecv");
}

bool Peers::may_send() {
  return sending == MPI_REQUEST_NULL || is_complete(sending);
}

void Peers::send_beat(Message::Kind kind, uint64_t started) {
  outgoing.kind = kind;
  outgoing.started = started;
  check(MPI_Isend(&outgoing, offsetof(Message, text) + 1, MPI_BYTE,
                  (group.rank + 1) % group.num_ranks, 0, group.control,
                  &sending),
        "MPI_Isend");
  sent = Clock::now();
}

void Peers::poll(uint64_t started) {
  if (group.num_ranks == 1)
    return;
  if (!is_leaving && Clock::now() - sent >= interval && may_send())
    send_beat(Message::beat, started);
  while (is_complete(receiving)) {
    Message message = incoming;
    receive();
    if (message.kind == Message::failed) {
      message.text[sizeof message.text - 1] = 0;
      throw Failure(message.text, -1, true);
    }
    heard = Clock::now();
    heard_started = message.started;
    previous_leaves |= message.kind == Message::leaving;
  }
  if (!previous_leaves && Clock::now() - heard > timeout)
    throw Failure("rank " + std::to_string(previous()) +
                      " has given no sign of life for " + seconds(timeout),
                  previous());
}

void Peers::tell(const std::string &failure, int dead_rank) {
  // Never freed: a rank that is gone takes none, and MPI keeps what it sends.
  Message &message = *new Message();
  message.kind = Message::failed;
  std::strncpy(message.text, failure.c_str(), sizeof message.text - 1);
  std::vector<MPI_Request> requests;
  for (int rank = 0; rank < group.num_ranks; ++rank)
    if (rank != group.rank && rank != dead_rank &&
        MPI_Isend(&message, sizeof message, MPI_BYTE, rank, 0, group.control,
                  &requests.emplace_back(MPI_REQUEST_NULL)) != MPI_SUCCESS)
      requests.pop_back();
  for (auto end = Clock::now() + 1s; Clock::now() < end;) {
    bool all = true;
    for (MPI_Request &request : requests) {
      int complete = 0;
      MPI_Test(&request, &complete, MPI_STATUS_IGNORE);
      all &= complete != 0;
    }
    if (all)
      return;
    std::this_thread::sleep_for(1ms);
  }
}

void Peers::leave(uint64_t started) {
  auto end = Clock::now() + timeout;
  auto wait_for = [&](auto is_there) {
    while (!is_there()) {
      if (Clock::now() > end)
        throw Failure("not all ranks have left after " + seconds(timeout));
      std::this_thread::sleep_for(100us);
    }
  };
  if (group.num_ranks > 1) {
    wait_for([&] { return may_send(); });
    send_beat(Message::leaving, started);
    is_leaving = true;
    wait_for([&] {
      poll(started);
      return previous_leaves && may_send();
    });
  }
  MPI_Request barrier = MPI_REQUEST_NULL;
  check(MPI_Ibarrier(group.control, &barrier), "MPI_Ibarrier");
  wait_for([&] { return is_complete(barrier); });
  check(MPI_Cancel(&receiving), "MPI_Cancel");
  check(MPI_Wait(&receiving, MPI_STATUS_IGNORE), "MPI_Wait");
}

} // namespace tinh::mpi
