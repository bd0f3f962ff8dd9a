//===- steps.h - What the steps of a function are --------------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef TINH_RUNTIME_STEPS_H
#define TINH_RUNTIME_STEPS_H

#include "tinh/artifact.h"
#include "tinh/collectives.h"

#include <vector>

namespace tinh::runtime {

/// Whether anything of the artifact needs a GPU.
bool needs_device(const tinh_artifact_t &artifact);

/// Whether a buffer lies in GPU memory. Its index has been checked.
bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function,
               const tinh_buffer_ref_t &buffer);

/// Whether the GPU does a step: one of its kernels, or a copy from, to or
/// within its memory. The step's buffers and kernel have been checked.
bool on_device(const tinh_artifact_t &artifact,
               const tinh_function_desc_t &function, const tinh_step_t &step);

/// Whether one worker does all that there is to do, if anything, or this is no
/// work.
bool is_one_piece(const tinh_step_t &step);

/// For each step, and for the end of the function, the LOOP that it lies in;
/// -1 for none. A LOOP lies outside its loop and a NEXT inside. Empty if loops
/// do not nest.
std::vector<int32_t> enclosing_loops(const tinh_function_desc_t &function);

/// Whether some number of ranks can do it.
bool valid_collective(const tinh_collective_desc_t &collective);

/// What an artifact describes, of these buffers: input, output.
inline tinh_collective_t collective_of(const tinh_collective_desc_t &what,
                                       void *const *buffers) {
  return {static_cast<tinh_collective_kind_t>(what.kind),
          static_cast<tinh_reduction_t>(what.reduction),
          static_cast<tinh_dtype_t>(what.dtype),
          static_cast<tinh_dtype_t>(what.communication_dtype),
          what.root,
          what.count,
          buffers[0],
          buffers[1]};
}

/// With whom a function computes.
struct CollectiveNeeds {
  bool any = false;       ///< With other ranks at all,
  uint32_t num_ranks = 0; ///< and with how many; 0: with any number.
  bool on_gpu = false;    ///< In the GPU's memory.
};
CollectiveNeeds collective_needs(const tinh_artifact_t &artifact,
                                 const tinh_function_desc_t &function);

/// An argument of a function: inputs first, then outputs.
inline const tinh_tensor_desc_t &
argument_of(const tinh_function_desc_t &function, uint32_t argument) {
  return argument < function.num_inputs
             ? function.inputs[argument]
             : function.outputs[argument - function.num_inputs];
}

} // namespace tinh::runtime

#endif // TINH_RUNTIME_STEPS_H
