//===- check_numerics.cpp - Which step gave the first NaN -------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// See the header. A variable that lies in another way than its type says is
// looked at as programs see it: there may be elements in between that mean
// nothing.
//
//===----------------------------------------------------------------------===//
#include "inspection/check_numerics.h"

#include "artifact/step_buffers.h"
#include "artifact/tensor.h"
#include "resources/state.h"
#include "support/error.h"

namespace tinh::runtime {

std::optional<NumericsCheck::Finding> NumericsCheck::find(const Step &step,
                                                          bool written) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  const tinh_kernel_desc_t &kernel = artifact.kernels[desc.kernel];
  for (uint32_t i = 0; i < kernel.num_operands; ++i) {
    if ((kernel.operands[i].written != 0) != written)
      continue;
    if (auto numbers = search(step, i))
      return Finding{i, std::move(*numbers)};
  }
  return std::nullopt;
}

static const char kCopy[] = "a tensor to be checked";

std::optional<NotFinite> NumericsCheck::search(const Step &step,
                                               uint32_t operand) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  const void *data = step.buffers[operand];
  const tinh_variable_desc_t *variable = stored_apart(step, operand);
  if (!variable) {
    const tinh_operand_desc_t &type =
        artifact.kernels[desc.kernel].operands[operand];
    MappedMemory copy;
    if (step.device) {
      uint64_t size = *operand_size(type);
      copy = MappedMemory::anonymous(size, kCopy);
      step.device->download(copy.data(), data, size, kCopy);
      data = copy.data();
    }
    return find_not_finite(
        {data, type.dtype, type.rank, type.dims, type.strides}, wanted);
  }
  MappedMemory plain = MappedMemory::anonymous(variable->size, kCopy);
  convert(artifact, variable->unpack, variable->size, data, plain.data());
  int64_t strides[TINH_MAX_RANK], stride = 1;
  for (uint32_t i = variable->rank; i-- > 0; stride *= variable->dims[i])
    strides[i] = stride;
  return find_not_finite(
      {plain.data(), variable->dtype, variable->rank, variable->dims, strides},
      wanted);
}

/// The variable that the operand is, if it is packed; else null, as for a part
/// of one: what is not as large as the variable's memory is not all of it.
const tinh_variable_desc_t *
NumericsCheck::stored_apart(const Step &step, uint32_t operand) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  const tinh_tensor_desc_t *tensor =
      tensor_of(step.function, desc.buffers[operand]);
  if (!tensor || tensor->variable == TINH_NOT_VARIABLE)
    return nullptr;
  const tinh_variable_desc_t &variable = artifact.variables[tensor->variable];
  const tinh_operand_desc_t &type =
      artifact.kernels[desc.kernel].operands[operand];
  bool is_all = operand_size(type) == variable.stored_size;
  return variable.unpack.kernel != TINH_NO_KERNEL && is_all ? &variable
                                                            : nullptr;
}

void NumericsCheck::before(const Step &step) {
  read = find(step, /*written=*/false);
}

void NumericsCheck::after(const Step &step) const {
  if (std::optional<Finding> result = find(step, /*written=*/true))
    throw_error(TINH_NOT_FINITE, {message(step, *result)});
}

/// "result 0, the output 'loss', f32 []"
std::string NumericsCheck::describe(const Step &step, uint32_t operand) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  const tinh_kernel_desc_t &kernel = artifact.kernels[desc.kernel];
  const tinh_operand_desc_t &type = kernel.operands[operand];
  uint32_t number = 0;
  for (uint32_t i = 0; i < operand; ++i)
    number += kernel.operands[i].written == type.written;
  const tinh_buffer_ref_t &buffer = desc.buffers[operand];
  const tinh_tensor_desc_t *tensor = tensor_of(step.function, buffer);
  std::string text =
      message_of({type.written ? "result " : "operand ", number});
  if (buffer.space == TINH_SPACE_WEIGHTS)
    text += ", a constant";
  else if (tensor)
    text += message_of({", the ",
                        tensor->variable != TINH_NOT_VARIABLE ? "variable"
                        : buffer.space == TINH_SPACE_INPUT    ? "input"
                                                              : "output",
                        " '", tensor->name, "'"});
  text += ", ";
  if (const tinh_variable_desc_t *variable = stored_apart(step, operand))
    return text + type_text(variable->dtype, variable->dims, variable->rank);
  return text + type_text(type.dtype, type.dims, type.rank);
}

std::string NumericsCheck::message(const Step &step,
                                   const Finding &result) const {
  const tinh_step_t &desc = step.function.steps[step.number];
  std::string text = message_of({step.function.name, ": step ", step.number,
                                 " of ", step.function.num_steps});
  for (size_t i = 0; i < step.iterations.size(); ++i)
    text += message_of({i ? ", " : ", iteration ", step.iterations[i]});
  text += message_of({": kernel '", artifact.kernels[desc.kernel].name, "'",
                      of_nodes(desc), " gave ", result.numbers.text(),
                      " of its ", describe(step, result.operand)});
  if (!read)
    return text + (wanted == TINH_CHECK_NANS
                       ? "; nothing that it had read was NaN"
                       : "; all that it had read was finite");
  return message_of({text, "; it had read ", read->numbers.text(), " of its ",
                     describe(step, read->operand)});
}

} // namespace tinh::runtime
