//===- step_buffers.h - What the buffers of a step are ----------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_STEP_BUFFERS_H
#define TINH_RUNTIME_STEP_BUFFERS_H

#include "tinh/artifact.h"

#include <optional>
#include <string>

namespace tinh::runtime {

/// Bytes of an element of a type (tinh_dtype_t) that a descriptor names; 0 if
/// there is no such one.
uint64_t element_size(uint32_t dtype);

/// The bytes from the first element of an operand to behind the last one;
/// nothing if it is no tensor.
std::optional<uint64_t> operand_size(const tinh_operand_desc_t &operand);

/// The bytes of what a collective reads (0) or writes (1); nothing if they are
/// beyond what can be counted.
std::optional<uint64_t>
collective_size(const tinh_collective_desc_t &collective, uint32_t b);

/// Whether it starts a collective or waits for one.
bool is_collective(const tinh_step_t &step);

/// The bytes that a step uses from the beginning of buffer `b` on. Its kernel
/// or collective has been checked.
uint64_t buffer_size(const tinh_artifact_t &artifact, const tinh_step_t &step,
                     uint32_t b);

/// The input or output of the function that a buffer lies in; null if it is
/// elsewhere. Its index has been checked.
const tinh_tensor_desc_t *tensor_of(const tinh_function_desc_t &function,
                                    const tinh_buffer_ref_t &buffer);

/// ", of the nodes 'a b',": what of the model a step computes, for messages;
/// empty if that is not known.
std::string of_nodes(const tinh_step_t &step);

} // namespace tinh::runtime

#endif // TINH_RUNTIME_STEP_BUFFERS_H
