//===- RecordedTensors.cpp - Tensors that were recorded ---------*- C++ -*-===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "RecordedTensors.h"

#include <cmath>

using namespace tinh;
using namespace tinh::test;
using nlohmann::json;

static DType dtypeOf(const std::string &name) {
  for (int i = 0; i <= TINH_DTYPE_F64; ++i)
    if (DType dtype = static_cast<tinh_dtype_t>(i); name == dtype.name())
      return dtype;
  throw std::runtime_error("no dtype " + name);
}

static double realOf(const json &value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), {})
                           : value.get<double>();
}

Tensor test::tensorOf(const json &array) {
  DType dtype = dtypeOf(array["dtype"]);
  Shape shape(array["shape"].get<std::vector<int64_t>>());
  if (dtype.is_floating_point()) {
    std::vector<double> data;
    for (const json &value : array["data"])
      data.push_back(realOf(value));
    return from_data(data, shape).to(dtype);
  }
  std::vector<int64_t> data;
  for (const json &value : array["data"])
    data.push_back(value.is_boolean()           ? value.get<bool>()
                   : value.is_number_unsigned() ? int64_t(value.get<uint64_t>())
                                                : value.get<int64_t>());
  return from_data(data, shape).to(dtype);
}

void test::expectNear(const Tensor &found, const json &expected,
                      double factor) {
  ASSERT_EQ(found.shape(),
            Shape(expected["shape"].get<std::vector<int64_t>>()));
  DType dtype = dtypeOf(expected["dtype"]);
  ASSERT_STREQ(found.dtype().name(), dtype.name());
  if (!dtype.is_floating_point()) {
    EXPECT_EQ(integers(found), integers(tensorOf(expected)));
    return;
  }
  double tolerance = dtype == float64 ? 1e-13 : dtype == float32 ? 1e-6 : 2e-3;
  std::vector<double> values = reals(found), wanted;
  tolerance *= factor;
  double largest = 0; // To which rounding errors of sums are relative.
  for (const json &value : expected["data"]) {
    wanted.push_back(realOf(value));
    if (std::isfinite(wanted.back()))
      largest = std::max(largest, std::abs(wanted.back()));
  }
  for (size_t i = 0; i < values.size(); ++i)
    if (std::isnan(wanted[i]))
      EXPECT_TRUE(std::isnan(values[i])) << "element " << i;
    else if (std::isinf(wanted[i]))
      EXPECT_EQ(values[i], wanted[i]) << "element " << i;
    else
      EXPECT_NEAR(values[i], wanted[i], tolerance * largest) << "element " << i;
}
