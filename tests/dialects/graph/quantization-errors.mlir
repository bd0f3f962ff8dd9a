// What quantised tensors and products of bytes have to be.
// RUN: graph-opt %s --split-input-file --verify-diagnostics

func.func @f(%x: tensor<4x3xf32>, %s: tensor<4xf32>) -> tensor<4x3xui8> {
  // expected-error @+1 {{has a scale 4xf32 or a zero point that does not broadcast to 4x3xf32}}
  %y = graph.quantize %x scale %s : tensor<4x3xf32>, tensor<4xf32> -> tensor<4x3xui8>
  return %y : tensor<4x3xui8>
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<f32>, %z: tensor<i8>) -> tensor<4x3xui8> {
  // expected-error @+1 {{expected a zero point of 'ui8', found 'i8'}}
  %y = graph.quantize %x scale %s zero_point %z : tensor<4x3xf32>, tensor<f32>, tensor<i8> -> tensor<4x3xui8>
  return %y : tensor<4x3xui8>
}

// -----

func.func @f(%x: tensor<4x3xf32>, %s: tensor<f32>) -> tensor<3x4xui8> {
  // expected-error @+1 {{expected a result of the shape of 4x3xf32, found 3x4xui8}}
  %y = graph.quantize %x scale %s : tensor<4x3xf32>, tensor<f32> -> tensor<3x4xui8>
  return %y : tensor<3x4xui8>
}

// -----

func.func @f(%x: tensor<4x3xi8>, %s: tensor<f16>) -> tensor<4x3xf32> {
  // expected-error @+1 {{expected a scale of 'f32', found 'f16'}}
  %y = graph.dequantize %x scale %s : tensor<4x3xi8>, tensor<f16> -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

func.func @f(%x: tensor<1x2x4xf32>, %w: tensor<2x2x3xf32>) -> tensor<1x2x4xf32> {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{only integers of 8 bits are padded with another value than 0, found 1x2x4xf32 and padding_value 3}}
  %y = graph.conv %x, %w strides [1] padding [1, 1] padding_value 3 dilations [1] groups 1 channels_first
      : tensor<1x2x4xf32>, tensor<2x2x3xf32> -> tensor<1x2x4xf32>
  return %y : tensor<1x2x4xf32>
}

// -----

func.func @f(%a: tensor<4x3xi8>, %b: tensor<3x2xi16>) -> tensor<4x2xi32> {
  // expected-error @+2 {{failed to infer returned types}}
  // expected-error @+1 {{element types differ: a is 4x3xi8, b is 3x2xi16}}
  %y = graph.matmul %a, %b : tensor<4x3xi8>, tensor<3x2xi16> -> tensor<4x2xi32>
  return %y : tensor<4x2xi32>
}

// -----

func.func @f(%x: tensor<4x3xui8>) -> tensor<8x3xi8> {
  // expected-error @+1 {{expected an axis from 0 to 1, found 2}}
  %y = graph.unpack_int4 %x axis 2 : tensor<4x3xui8> -> tensor<8x3xi8>
  return %y : tensor<8x3xi8>
}

// -----

func.func @f(%x: tensor<4x3xui8>) -> tensor<8x3xi8> {
  // expected-error @+1 {{expected a result with twice the bytes of 4x3xui8 along axis 1, found 8x3xi8}}
  %y = graph.unpack_int4 %x axis 1 : tensor<4x3xui8> -> tensor<8x3xi8>
  return %y : tensor<8x3xi8>
}
