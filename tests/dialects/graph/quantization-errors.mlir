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

// -----

func.func @f(%x: tensor<4xf8E4M3FN>, %y: tensor<4xf8E4M3FN>) -> tensor<4xf8E4M3FN> {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of bool, integer, f16, bf16, f32 or f64 elements (f8 and f4 are for storage: cast them), but got 'tensor<4xf8E4M3FN>'}}
  %z = graph.add %x, %y : tensor<4xf8E4M3FN>, tensor<4xf8E4M3FN> -> tensor<4xf8E4M3FN>
  return %z : tensor<4xf8E4M3FN>
}

// -----

func.func @f(%x: tensor<4xf8E5M2>) -> tensor<4xf8E5M2> {
  // expected-error @+1 {{operand #0 must be statically shaped tensor of f64, f32, f16 or bf16, but got 'tensor<4xf8E5M2>'}}
  %y = graph.exp %x : tensor<4xf8E5M2>
  return %y : tensor<4xf8E5M2>
}

// -----

func.func @f(%x: tensor<4x3xf8E5M2>, %i: tensor<2xi64>, %u: tensor<2x3xf8E5M2>) -> tensor<4x3xf8E5M2> {
  // expected-error @+1 {{graph.scatter: 4x3xf8E5M2 is for storage and can only be assigned to; cast it before it is computed with}}
  %y = graph.scatter add %x, %i, %u axis 0 : tensor<4x3xf8E5M2>, tensor<2xi64>, tensor<2x3xf8E5M2>
  return %y : tensor<4x3xf8E5M2>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf16> {
  // expected-error @+1 {{only casts to floats of 8 or 4 bits saturate, found 'f16'}}
  %y = graph.cast %x saturate : tensor<4xf32> to tensor<4xf16>
  return %y : tensor<4xf16>
}

// -----

func.func @f(%x: tensor<4xf32>) -> tensor<4xf8E5M2> {
  // expected-error @+1 {{floats of 8 and 4 bits are rounded where they are made, found a cast from 'f32' to 'f8E5M2' that may contract}}
  %y = graph.cast %x contract : tensor<4xf32> to tensor<4xf8E5M2>
  return %y : tensor<4xf8E5M2>
}

// -----

func.func @f(%x: tensor<4x3xf8E5M2>, %s: tensor<f32>, %z: tensor<f8E4M3FN>) -> tensor<4x3xf32> {
  // expected-error @+1 {{expected a zero point of 'f8E5M2', found 'f8E4M3FN'}}
  %y = graph.dequantize %x scale %s zero_point %z : tensor<4x3xf8E5M2>, tensor<f32>, tensor<f8E4M3FN> -> tensor<4x3xf32>
  return %y : tensor<4x3xf32>
}

// -----

func.func @rounding(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf8E5M2> {graph.name = "y"}) {
  // expected-error @+1 {{only casts to f8E8M0FNU round up, found 'f8E5M2'}}
  %y = graph.cast %x rounding up : tensor<4xf32> to tensor<4xf8E5M2>
  return %y : tensor<4xf8E5M2>
}

// -----

func.func @powers(%x: tensor<4xf32> {graph.name = "x"}, %s: tensor<f32> {graph.name = "s"}) -> (tensor<4xf8E8M0FNU> {graph.name = "y"}) {
  // expected-error @+1 {{result #0 must be statically shaped tensor of integers of 8 or 16 bits, f8 but f8E8M0FNU, or f4, but got 'tensor<4xf8E8M0FNU>'}}
  %y = graph.quantize %x scale %s : tensor<4xf32>, tensor<f32> -> tensor<4xf8E8M0FNU>
  return %y : tensor<4xf8E8M0FNU>
}

// -----

func.func @widths(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xi64> {graph.name = "y"}) {
  // expected-error @+1 {{expected element types of as many bits, found 'f32' and 'i64'}}
  %y = graph.bitcast %x : tensor<4xf32> to tensor<4xi64>
  return %y : tensor<4xi64>
}

// -----

func.func @booleans(%x: tensor<4xi1> {graph.name = "x"}) -> (tensor<4xi8> {graph.name = "y"}) {
  // expected-error @+1 {{booleans have no bits to read, found 'i1' and 'i8'; a cast converts them}}
  %y = graph.bitcast %x : tensor<4xi1> to tensor<4xi8>
  return %y : tensor<4xi8>
}
