//===- device_collectives.cpp - What ranks compute on GPUs ------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header.
//
//===----------------------------------------------------------------------===//
#include "cuda/run/device_collectives.h"

#include "artifact/steps.h"
#include "support/error.h"

namespace tinh::runtime::cuda {

static void check_ranks(const char *error) {
  if (error)
    throw Error(TINH_COLLECTIVE_FAILED, error);
}

DeviceCollectives::DeviceCollectives(tinh_collectives_t *table, DevicePtr on)
    : table(table), device(std::move(on)) {
  if (!table)
    return;
  if (table->gpu->struct_size < sizeof(tinh_gpu_collectives_t))
    throw_error(TINH_INCOMPATIBLE,
                {"the collectives of GPUs cannot be captured: their table is "
                 "of an older version of tinh/gpu_collectives.h"});
  uint32_t own = table->gpu->gpu(table);
  if (own != device->index())
    throw_error(TINH_INVALID_ARGUMENT,
                {"this rank's collectives are of GPU ", own,
                 ", and its context is on GPU ", device->index(),
                 "; set cuda_device (tinh_context_options_t) to ", own});
}

DeviceCollectives::~DeviceCollectives() {
  for (uint64_t ticket : all_captured)
    table->gpu->release(table, ticket);
  if (memory)
    table->gpu->remove_memory(table, memory);
}

void DeviceCollectives::add_memory(CUdeviceptr address, uint64_t size) {
  if (table && size != 0)
    check_ranks(table->gpu->add_memory(table, reinterpret_cast<void *>(address),
                                       size, &memory));
}

DeviceCollectives::Captured DeviceCollectives::capture(const tinh_step_t &step,
                                                       void *const *buffers) {
  tinh_collective_t collective = collective_of(*step.collective, buffers);
  if (!captured_stream)
    captured_stream = make_stream(device);
  Captured captured = {};
  CUstream stream = captured_stream.get();
  captured.graph = cuda::capture(device, captured_stream, "a collective", [&] {
    check_ranks(
        table->gpu->capture(table, &collective, stream, &captured.ticket));
    all_captured.push_back(captured.ticket);
  });
  return captured;
}

void DeviceCollectives::launch(std::span<const uint64_t> captured,
                               CUstream stream) {
  for (uint64_t ticket : captured) {
    check_ranks(table->gpu->launch(table, ticket, stream));
    awaited.push_back(ticket);
  }
}

void DeviceCollectives::begin(const tinh_function_desc_t &next) {
  function = &next;
  started.assign(table ? next.num_steps : 0, std::nullopt);
  awaited.clear();
}

uint64_t DeviceCollectives::start(const tinh_collective_desc_t &what,
                                  void *const *buffers, CUstream stream) const {
  tinh_collective_t collective = collective_of(what, buffers);
  uint64_t ticket = 0;
  check_ranks(table->gpu->start(table, &collective, stream, &ticket));
  return ticket;
}

void DeviceCollectives::execute(uint32_t index, void *const *buffers,
                                CUstream stream) {
  const tinh_step_t &step = function->steps[index];
  if (step.opcode == TINH_OP_START) {
    started[index] = start(*step.collective, buffers, stream);
    return;
  }
  uint64_t ticket = *std::exchange(started[step.target], std::nullopt);
  awaited.push_back(ticket);
  check_ranks(table->gpu->order(table, ticket, stream));
}

void DeviceCollectives::wait() {
  for (uint64_t ticket : std::exchange(awaited, {}))
    check_ranks(table->gpu->wait(table, ticket));
}

bool DeviceCollectives::have_failed() const {
  return table && table->failure && table->failure(table);
}

void DeviceCollectives::forget() noexcept {
  started.assign(started.size(), std::nullopt);
  awaited.clear();
}

} // namespace tinh::runtime::cuda
