//===- check_numerics.cpp - Which step gave the first NaN -------*- C++ -*-===//
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
#include "check_numerics.h"

#include "error.h"
#include "tensor.h"

namespace tinh::runtime {

std::optional<NumericsCheck::Finding> NumericsCheck::find(const Step &step,
                                                          bool written) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  const tinh_kernel_desc_t &kernel = artifact.kernels[desc.kernel];
  for (uint32_t i = 0; i < kernel.num_operands; ++i) {
    const tinh_operand_desc_t &operand = kernel.operands[i];
    if ((operand.written != 0) != written)
      continue;
    NumberArray array = {step.buffers[i], operand.dtype, operand.rank,
                         operand.dims, operand.strides};
    if (auto numbers = find_not_finite(array, wanted))
      return Finding{i, std::move(*numbers)};
  }
  return std::nullopt;
}

void NumericsCheck::before(const Step &step) {
  read = find(step, /*written=*/false);
}

void NumericsCheck::after(const Step &step) const {
  if (std::optional<Finding> result = find(step, /*written=*/true))
    throw Error(TINH_NOT_FINITE, message(step, *result));
}

/// "result 0, the output 'loss', f32 []"
std::string NumericsCheck::describe(const Step &step, uint32_t operand) const {
  const tinh_function_desc_t &function = step.function;
  const tinh_step_t &desc = function.steps[step.number];
  const tinh_kernel_desc_t &kernel = artifact.kernels[desc.kernel];
  const tinh_operand_desc_t &type = kernel.operands[operand];
  uint32_t number = 0;
  for (uint32_t i = 0; i < operand; ++i)
    number += kernel.operands[i].written == type.written;
  const tinh_buffer_ref_t &buffer = desc.buffers[operand];
  const tinh_tensor_desc_t *tensor =
      buffer.space == TINH_SPACE_INPUT    ? &function.inputs[buffer.index]
      : buffer.space == TINH_SPACE_OUTPUT ? &function.outputs[buffer.index]
                                          : nullptr;
  std::string text =
      (type.written ? "result " : "operand ") + std::to_string(number);
  if (buffer.space == TINH_SPACE_WEIGHTS)
    text += ", a constant";
  else if (tensor)
    text += std::string(", the ") +
            (tensor->variable != TINH_NOT_VARIABLE ? "variable"
             : buffer.space == TINH_SPACE_INPUT    ? "input"
                                                   : "output") +
            " '" + tensor->name + "'";
  return text + ", " + type_text(type.dtype, type.dims, type.rank);
}

std::string NumericsCheck::message(const Step &step,
                                   const Finding &result) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  std::string text = std::string(step.function.name) + ": step " +
                     std::to_string(step.number) + " of " +
                     std::to_string(step.function.num_steps);
  for (size_t i = 0; i < step.iterations.size(); ++i)
    text.append(i ? ", " : ", iteration ")
        .append(std::to_string(step.iterations[i]));
  text += std::string(": kernel '") + artifact.kernels[desc.kernel].name + "'";
  if (desc.label && *desc.label)
    text += std::string(", of the nodes '") + desc.label + "',";
  text += " gave " + result.numbers.text() + " of its " +
          describe(step, result.operand);
  if (!read)
    return text + (wanted == TINH_CHECK_NANS
                       ? "; nothing that it had read was NaN"
                       : "; all that it had read was finite");
  return text + "; it had read " + read->numbers.text() + " of its " +
         describe(step, read->operand);
}

} // namespace tinh::runtime
