//===- ImportOnnxOpErrorsTest.cpp - Nodes that do not fit together --------===//
//
// Part of the Tinh project, under the Apache License v2.0 with LLVM Exceptions.
// See LICENSE for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What is said of nodes whose inputs have other shapes, or attributes other
// values, than their op allows; ONNX's own tests have only nodes that are
// right.
//
//===----------------------------------------------------------------------===//
#include "tests/import/ImportTestSupport.h"

using namespace tinh::test;

namespace {

// Of TensorProto.DataType.
constexpr int kF32 = 1, kI8 = 3, kI64 = 7;

class ImportOnnxOpErrors : public ImportTest {
protected:
  /// The message for a node `n` with inputs x0, x1 … of `types`, or f32, and
  /// the output y.
  std::string messageOf(const std::string &op,
                        std::vector<std::initializer_list<int64_t>> shapes,
                        const std::string &attributes = "",
                        std::vector<int> types = {}) {
    types.resize(shapes.size(), kF32);
    std::string text = "output { name: \"y\" }\n";
    std::string node = "node { name: \"n\" op_type: \"" + op + "\" ";
    for (size_t i = 0; i < shapes.size(); ++i) {
      std::string name = "x" + std::to_string(i);
      text += tensorInfo("input", name, shapes[i], types[i]);
      node += "input: \"" + name + "\" ";
    }
    text += node + " output: \"y\" " + attributes + " }";
    std::string message = importOnnx(model(text, 28));
    std::string start = "error: node \"n\" (" + op + "): ";
    EXPECT_EQ(message.substr(0, start.size()), start) << message;
    return message.substr(std::min(start.size(), message.size()));
  }
};

std::string intAttribute(const std::string &name, int value) {
  return "attribute { name: \"" + name +
         "\" type: INT i: " + std::to_string(value) + " } ";
}

std::string stringAttribute(const std::string &name, const std::string &value) {
  return "attribute { name: \"" + name + "\" type: STRING s: \"" + value +
         "\" } ";
}

TEST_F(ImportOnnxOpErrors, Attention) {
  EXPECT_EQ(messageOf("Attention", {{2, 3}, {2, 3}, {2, 3}}),
            "query, key and value must all have rank 3 or all rank 4");
  EXPECT_EQ(messageOf("Attention", {{1, 4, 8}, {1, 4, 8}, {1, 4, 8}},
                      intAttribute("q_num_heads", 3) +
                          intAttribute("kv_num_heads", 2)),
            "cannot divide 1x4x8xf32 among 3 heads");
  EXPECT_EQ(messageOf("Attention", {{1, 3, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}}),
            "query, key and value do not fit together: 1x3x4x8xf32, "
            "1x2x4x8xf32 and 1x2x4x8xf32");
  EXPECT_EQ(messageOf("Attention", {{1, 2, 4, 8}, {1, 2, 4, 8}, {1, 2, 4, 8}},
                      intAttribute("qk_matmul_output_mode", 4)),
            "attribute qk_matmul_output_mode: expected 0 to 3, found 4");
}

TEST_F(ImportOnnxOpErrors, RotaryEmbedding) {
  EXPECT_EQ(messageOf("RotaryEmbedding", {{1, 2, 3, 7}, {1, 3, 3}, {1, 3, 3}}),
            "cannot rotate 7 of 7 elements");
  EXPECT_EQ(messageOf("RotaryEmbedding", {{1, 2, 3, 8}, {1, 3, 3}, {1, 3, 3}}),
            "expected [batch, length, 4] for the sines and cosines, found "
            "1x3x3xf32");
}

TEST_F(ImportOnnxOpErrors, LinearAttention) {
  std::string heads =
      intAttribute("q_num_heads", 4) + intAttribute("kv_num_heads", 2);
  std::string linear = stringAttribute("update_rule", "linear");
  EXPECT_EQ(messageOf("LinearAttention", {{1, 3, 8}, {1, 3, 4}, {1, 3, 4}},
                      heads + stringAttribute("update_rule", "square")),
            "attribute update_rule: expected linear, gated, delta or "
            "gated_delta, found \"square\"");
  EXPECT_EQ(
      messageOf("LinearAttention", {{1, 3, 8}, {1, 3, 4}, {1, 3, 4}}, heads),
      "the update_rule \"gated_delta\" needs the input decay");
  EXPECT_EQ(messageOf("LinearAttention", {{1, 3, 8}, {1, 3, 4}, {1, 3, 4}},
                      linear + intAttribute("q_num_heads", 3) +
                          intAttribute("kv_num_heads", 2)),
            "expected q_num_heads to be a multiple of kv_num_heads, found 3 "
            "and 2");
  EXPECT_EQ(messageOf("LinearAttention", {{1, 3, 8}, {1, 2, 4}, {1, 3, 4}},
                      heads + linear),
            "expected a key of the shape [1, 3, 4], found 1x2x4xf32");
}

TEST_F(ImportOnnxOpErrors, CausalConvWithState) {
  EXPECT_EQ(messageOf("CausalConvWithState", {{1, 2, 5}, {2, 1, 3}},
                      stringAttribute("activation", "relu")),
            "attribute activation: expected none, silu or swish, found "
            "\"relu\"");
  EXPECT_EQ(messageOf("CausalConvWithState", {{1, 2, 5}, {3, 1, 3}}),
            "expected weights of the shape [2, 1, 3], found 3x1x3xf32");
  EXPECT_EQ(
      messageOf("CausalConvWithState", {{1, 2, 5}, {2, 1, 3}, {2}, {1, 2, 3}}),
      "expected a past_state of the shape [1, 2, 2], found 1x2x3xf32");
}

TEST_F(ImportOnnxOpErrors, Regions) {
  EXPECT_EQ(messageOf("RoiAlign", {{1, 2, 5, 5}, {3, 4}, {3}}, "",
                      {kF32, kF32, kI64}),
            "sampling_ratio 0 lets the number of samples depend on the size "
            "of each region; export the model with a fixed one, such as 2");
  EXPECT_EQ(messageOf("RoiAlign", {{1, 2, 5, 5}, {3, 5}, {3}},
                      intAttribute("sampling_ratio", 2), {kF32, kF32, kI64}),
            "expected an image [N, C, H, W] with regions [R, 4] and the "
            "number of the image of each, [R], found 1x2x5x5xf32, 3x5xf32 and "
            "3xi64");
  EXPECT_EQ(
      messageOf("DeformConv", {{1, 2, 5, 5}, {4, 2, 3, 3}, {1, 18, 5, 5}}),
      "expected offsets of the shape [1, 18, 3, 3], found "
      "1x18x5x5xf32");
  EXPECT_EQ(messageOf("DeformConv", {{1, 3, 5, 5}, {4, 2, 3, 3}, {1}}),
            "the weights 4x2x3x3xf32 in 1 groups, with 1 groups of offsets, "
            "do not fit the image 1x3x5x5xf32");
}

TEST_F(ImportOnnxOpErrors, Determinant) {
  EXPECT_EQ(messageOf("Det", {{2, 3}}),
            "expected square matrices, found 2x3xf32");
}

TEST_F(ImportOnnxOpErrors, Einsum) {
  for (const char *equation : {"ij,jk->ik", "ijk->", "i->j", "i1->i", "ij->ii"})
    EXPECT_EQ(
        messageOf("Einsum", {{2, 3}}, stringAttribute("equation", equation)),
        "the equation \"" + std::string(equation) +
            "\" does not fit its operands");
  EXPECT_EQ(messageOf("Einsum", {{2, 3}}, stringAttribute("equation", "ii->i")),
            "a name that an operand has twice must stand for one extent");
  EXPECT_EQ(messageOf("Einsum", {{2, 3}, {4, 5}},
                      stringAttribute("equation", "ij,jk->ik")),
            "a name stands for the extents 3 and 4");
}

TEST_F(ImportOnnxOpErrors, Recurrent) {
  EXPECT_EQ(messageOf("LSTM", {{5, 2, 3}, {1, 16, 3}, {1, 12, 4}}),
            "X, W and R must have rank 3 and R the shape [directions, 4 "
            "hidden, hidden]");
  EXPECT_EQ(messageOf("GRU", {{5, 2, 3}, {1, 12, 2}, {1, 12, 4}}),
            "W must be [1, 12, 3], found 1x12x2xf32");
  EXPECT_EQ(messageOf("RNN", {{5, 2, 3}, {1, 4, 3}, {1, 4, 4}},
                      stringAttribute("direction", "sideways")),
            "attribute direction: unknown value \"sideways\"");
  EXPECT_EQ(messageOf("RNN", {{5, 2, 3}, {1, 4, 3}, {1, 4, 4}},
                      "attribute { name: \"activations\" type: STRINGS "
                      "strings: \"Frob\" }"),
            "attribute activations: \"Frob\" is not known");
}

TEST_F(ImportOnnxOpErrors, Scatter) {
  EXPECT_EQ(messageOf("ScatterElements", {{2, 3}, {2, 4}, {2, 4}},
                      "attribute { name: \"reduction\" type: STRING "
                      "s: \"average\" }",
                      {kF32, kI64}),
            "attribute reduction: unknown value \"average\"");
  EXPECT_EQ(messageOf("ScatterElements", {{2, 3}, {2, 4}, {2, 4}},
                      "attribute { name: \"axis\" type: INT i: 2 }",
                      {kF32, kI64}),
            "axis 2 is outside a tensor of rank 2");
}

TEST_F(ImportOnnxOpErrors, Losses) {
  EXPECT_EQ(messageOf("NegativeLogLikelihoodLoss", {{2, 5, 3}, {2, 4}}, "",
                      {kF32, kI64}),
            "expected scores [N, C, …] and targets [N, …], found 2x5x3xf32 "
            "and 2x4xi64");
  EXPECT_EQ(messageOf("SoftmaxCrossEntropyLoss", {{2}, {2}}, "", {kF32, kI64}),
            "expected scores of rank 2 or more, found 2xf32");
}

TEST_F(ImportOnnxOpErrors, Quantization) {
  EXPECT_EQ(messageOf("DequantizeLinear", {{2, 3}, {4}}, "", {kI8}),
            "the parameters 4xf32 do not fit axis 1 of 2x3xi8");
  expectContains(messageOf("QuantizeLinear", {{2, 3}, {}, {}}),
                 "input 2 (\"x2\"): expected elements of FLOAT4E2M1, ");
  // What an attribute says, no input's type has told before.
  const std::pair<int, std::string> kWrong[] = {{6, "i32"}, {24, "f8E8M0FNU"}};
  for (const auto &[type, name] : kWrong)
    EXPECT_EQ(messageOf("QuantizeLinear", {{2, 3}, {}},
                        intAttribute("output_dtype", type)),
              "expected integers of 8 or 16 bits, or floats of 8 or 4, as "
              "quantised elements, found " +
                  name);
}

/// The message for a MatMulNBits of [1, 64] and weights [4, 2, 16], with these
/// further inputs and attributes.
class ImportMatmulNBitsErrors : public ImportTest {
protected:
  std::string messageOf(const std::string &attributes,
                        const std::string &inputs = "",
                        const std::string &graph = "", int64_t blocks = 2) {
    std::string text = R"(ir_version: 10 opset_import { version: 21 }
      opset_import { domain: "com.microsoft" version: 1 }
      graph { name: "g" output { name: "y" } )" +
                       tensorInfo("input", "a", {1, 64}) +
                       tensorInfo("input", "b", {4, blocks, 16}, 2) +
                       tensorInfo("input", "s", {8}) + graph +
                       R"( node { name: "n" op_type: "MatMulNBits"
      domain: "com.microsoft" output: "y" input: "a" input: "b" input: "s" )" +
                       inputs + attributes + " } }";
    std::string message = importOnnx(text);
    std::string start = "error: node \"n\" (MatMulNBits): ";
    EXPECT_EQ(message.substr(0, start.size()), start) << message;
    return message.substr(std::min(start.size(), message.size()));
  }
};

TEST_F(ImportMatmulNBitsErrors, SayWhatIsExpected) {
  std::string k = intAttribute("K", 64), n = intAttribute("N", 4),
              block = intAttribute("block_size", 32);
  EXPECT_EQ(messageOf(n + block),
            "expected attributes K and N of 1 or more, found 0 and 4");
  EXPECT_EQ(messageOf(k + n + block + intAttribute("bits", 3)),
            "expected bits to be 4 or 8, found 3");
  EXPECT_EQ(messageOf(k + n + intAttribute("block_size", 24)),
            "expected a block_size that is a power of two from 16 on, found "
            "24");
  EXPECT_EQ(messageOf(intAttribute("K", 32) + n + block),
            "expected A with K = 32 as its last dimension, found 1x64xf32");
  EXPECT_EQ(messageOf(k + n + block, "", "", /*blocks=*/3),
            "B must have as many elements as [4, 2, 16], found 4x3x16xui8");
  EXPECT_EQ(messageOf(k + n + intAttribute("block_size", 16)),
            "scales must have as many elements as [4, 4], found 8xf32");
  EXPECT_EQ(messageOf(k + n + block, "input: \"z\"",
                      tensorInfo("input", "z", {8}, /*dataType=*/6)),
            "expected zero_points of uint8 or the elements of A, found INT32");
  EXPECT_EQ(messageOf(k + n + block, "input: \"z\"",
                      tensorInfo("input", "z", {8}, /*dataType=*/2)),
            "zero_points must have as many elements as [4, 1, 1], found "
            "8xui8");
  EXPECT_EQ(messageOf(k + n + block, "input: \"\" input: \"i\"",
                      tensorInfo("input", "i", {64}, /*dataType=*/6)),
            "g_idx, an order of the depth, is not supported; export the model "
            "without it (desc_act=False)");
}

TEST_F(ImportOnnxOpErrors, Sampling) {
  EXPECT_EQ(messageOf("GridSample", {{1, 1, 4, 4}, {1, 2, 2, 3}}),
            "a grid 1x2x2x3xf32 does not fit the image 1x1x4x4xf32");
  EXPECT_EQ(messageOf("GridSample", {{1, 1, 4, 4}, {1, 2, 2, 2}},
                      stringAttribute("padding_mode", "mirror")),
            "attribute padding_mode: unknown value \"mirror\"");
}

TEST_F(ImportOnnxOpErrors, QuantisedProductsOfFloats) {
  expectContains(
      messageOf("QLinearMatMul", {{2, 2}, {}, {}, {2, 2}, {}, {}, {}, {}}),
      "input 0 (\"x0\"): expected elements of ");
}

TEST_F(ImportOnnxOpErrors, SuppressionByIntegers) {
  EXPECT_EQ(messageOf("NonMaxSuppression", {{1, 6, 4}, {1, 1, 6}, {1}}, "",
                      {kF32, kI64, kI64}),
            "input 1 (\"x1\"): expected elements of FLOAT, found INT64");
}

TEST_F(ImportOnnxOpErrors, SampledByIntegers) {
  std::string message = importOnnx(
      model(tensorInfo("input", "x", {1, 1, 4, 4}) +
                tensorInfo("input", "g", {1, 2, 2, 2}, /*dataType=*/7) +
                "output { name: \"y\" } node { name: \"n\" op_type: "
                "\"GridSample\" input: \"x\" input: \"g\" output: \"y\" " +
                stringAttribute("mode", "nearest") + "}",
            20));
  expectContains(message, "error: node \"n\" (GridSample): input 1 (\"g\"): "
                          "expected elements of BFLOAT16, DOUBLE, FLOAT, "
                          "FLOAT16, found INT64");
}

TEST_F(ImportOnnxOpErrors, Pooling) {
  std::string kernel = "attribute { name: \"kernel_shape\" type: INTS "
                       "ints: 2 ints: 2 } ";
  EXPECT_EQ(messageOf("LpPool", {{1, 1, 4, 4}}, kernel + intAttribute("p", 0)),
            "attribute p: expected 1 or more");
  EXPECT_EQ(messageOf("MaxUnpool", {{1, 1, 2, 2}, {1, 1, 2, 3}}, kernel,
                      {kF32, kI64}),
            "the maxima 1x1x2x2xf32 with the indices 1x1x2x3xi64 cannot stem "
            "from [1, 1, 3, 3]");
}

TEST_F(ImportOnnxOpErrors, FlexAttention) {
  auto flex = [&](const std::string &attributes) {
    std::string text =
        tensorInfo("input", "x", {1, 2, 3, 4}) +
        "output { name: \"y\" } node { name: \"n\" op_type: "
        "\"FlexAttention\" domain: \"ai.onnx.preview\" input: \"x\" input: "
        "\"x\" input: \"x\" output: \"y\" " +
        attributes + "}";
    return importOnnx(model(text) +
                      "opset_import { domain: \"ai.onnx.preview\" version: 1 "
                      "}");
  };
  EXPECT_EQ(flex("attribute { name: \"score_mod\" type: GRAPH g { input { "
                 "name: \"s\" } output { name: \"t\" } node { op_type: "
                 "\"ReduceMax\" input: \"s\" output: \"t\" } } } "),
            "error: node \"n\" (FlexAttention): attribute score_mod: expected "
            "a graph of one output 1x2x3x3xf32, found 1x1x1x1xf32");
  EXPECT_EQ(flex(intAttribute("softmax_precision", 7)),
            "error: node \"n\" (FlexAttention): expected a softmax_precision "
            "of floats and a scale that is not negative");
}

TEST_F(ImportOnnxOpErrors, BitCast) {
  EXPECT_EQ(messageOf("BitCast", {{2}}, intAttribute("to", 7)),
            "expected a type of 32 bits, found one of 64");
  EXPECT_EQ(messageOf("BitCast", {{2}}, intAttribute("to", 9)),
            "expected a type of 32 bits, found one of 8");
}

TEST_F(ImportOnnxOpErrors, CastToPowersOfTwo) {
  EXPECT_EQ(
      messageOf("Cast", {{2}},
                intAttribute("to", 24) + stringAttribute("round_mode", "away")),
      "attribute round_mode: expected up, down or nearest, found "
      "\"away\"");
}

TEST_F(ImportOnnxOpErrors, TfIdfVectorizer) {
  auto ints = [](const std::string &name, std::initializer_list<int> values) {
    std::string text = "attribute { name: \"" + name + "\" type: INTS ";
    for (int value : values)
      text += "ints: " + std::to_string(value) + " ";
    return text + "} ";
  };
  EXPECT_EQ(messageOf("TfIdfVectorizer", {{4}},
                      "attribute { name: \"pool_strings\" type: STRINGS "
                      "strings: \"a\" } ",
                      {kI64}),
            "pool_strings are tokens of an input of strings, and this one has "
            "numbers, whose tokens are pool_int64s");
  EXPECT_EQ(messageOf("TfIdfVectorizer", {{4}},
                      ints("pool_int64s", {1, 2, 3}) +
                          ints("ngram_counts", {0, 2}) +
                          ints("ngram_indexes", {0, 1, 2}),
                      {kI64}),
            "attribute ngram_counts: expected the places in pool_int64s where "
            "n-grams of 1, 2 … tokens begin, found [0, 2] and 3 tokens");
  EXPECT_EQ(messageOf("TfIdfVectorizer", {{4}},
                      ints("pool_int64s", {1, 2}) + ints("ngram_counts", {0}) +
                          ints("ngram_indexes", {0}),
                      {kI64}),
            "attribute ngram_indexes: expected 2 columns, one for each n-gram, "
            "found 1");
}

TEST_F(ImportOnnxOpErrors, Selection) {
  EXPECT_EQ(messageOf("ReverseSequence", {{4, 2}, {3}}, "", {kF32, kI64}),
            "expected a length for each of 2 sequences, found 3xi64");
  auto topK = [&](int64_t count, int64_t extent) {
    return importOnnx(model(
        "output { name: \"y\" } initializer { name: \"k\" data_type: 7 "
        "int64_data: " +
        std::to_string(count) + " }" + tensorInfo("input", "x", {2, extent}) +
        "node { name: \"n\" op_type: \"TopK\" input: \"x\" "
        "input: \"k\" output: \"y\" }"));
  };
  EXPECT_EQ(topK(9, 3),
            "error: node \"n\" (TopK): cannot take the first 9 of 3 "
            "elements");
  EXPECT_EQ(topK(10001, 80000),
            "error: node \"n\" (TopK): cannot take the first 10001 of 80000 "
            "elements: of more than 65536, at most an eighth is taken");
}

TEST_F(ImportOnnxOpErrors, AttributesOfOtherTypes) {
  std::string number = "type: FLOAT f: 1.5 } ";
  EXPECT_EQ(
      messageOf("TopK", {{4}, {1}}, "attribute { name: \"axis\" " + number),
      "attribute axis: expected INT, found FLOAT");
  EXPECT_EQ(messageOf("TopK", {{4}, {1}}, stringAttribute("largest", "yes")),
            "attribute largest: expected INT, found STRING");
  EXPECT_EQ(messageOf("GridSample", {{1, 1, 4, 4}, {1, 2, 2, 2}},
                      "attribute { name: \"align_corners\" " + number),
            "attribute align_corners: expected INT, found FLOAT");
  EXPECT_EQ(messageOf("If", {{}}, intAttribute("then_branch", 1)),
            "attribute then_branch: expected GRAPH, found INT");
  EXPECT_EQ(messageOf("Softmax", {{4}},
                      intAttribute("axis", 0) + intAttribute("axis", 0)),
            "attribute axis is given twice");
}

TEST_F(ImportOnnxOpErrors, IntegersOutOfRange) {
  auto ints = [](const std::string &name, const std::string &values) {
    return "attribute { name: \"" + name + "\" type: INTS ints: [" + values +
           "] } ";
  };
  EXPECT_EQ(messageOf("LRN", {{1, 3, 4, 4}},
                      "attribute { name: \"size\" type: INT i: "
                      "1000000000000 } "),
            "attribute size: 1000000000000 is out of range");
  EXPECT_EQ(messageOf("LRN", {{1, 3, 4, 4}}, intAttribute("size", -1)),
            "graph.lrn: expected a channel dimension and a size from 1 to "
            "2147483648, found 1x3x4x4xf32 and -1");
  EXPECT_EQ(messageOf("Conv", {{1, 3, 4, 4}, {3, 3, 2, 2}},
                      ints("dilations", "9223372036854775807, 1")),
            "attribute dilations: 9223372036854775807 is out of range");
  EXPECT_EQ(messageOf("ConvTranspose", {{1, 3, 4, 4}, {3, 3, 2, 2}},
                      ints("output_padding", "-1, 0")),
            "graph.conv_transpose: output_padding must be from 0 to "
            "2147483648, found -1");
}

TEST_F(ImportOnnxOpErrors, TypesThatOnnxDoesNotAllow) {
  std::string other = ", found FLOAT";
  for (const char *op : {"And", "Or", "Xor"}) {
    EXPECT_EQ(messageOf(op, {{2}, {2}}),
              "input 0 (\"x0\"): expected elements of BOOL" + other);
    EXPECT_EQ(messageOf(op, {{2}, {2}}, "", {kI64, kI64}),
              "input 0 (\"x0\"): expected elements of BOOL, found INT64");
  }
  EXPECT_EQ(messageOf("Not", {{2}}),
            "input 0 (\"x0\"): expected elements of BOOL" + other);
  for (const char *op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
    EXPECT_EQ(messageOf(op, {{2}, {2}}),
              "input 0 (\"x0\"): expected elements of INT16, INT32, INT64, "
              "INT8, UINT16, UINT32, UINT64, UINT8" +
                  other);
}

TEST_F(ImportOnnxOpErrors, GathersFromTensorsWithoutElements) {
  auto messageFor = [&](const std::string &op, const std::string &indices) {
    return importOnnx(model(tensorInfo("input", "x", {0, 3}) +
                            "output { name: \"y\" } initializer { name: \"i\" "
                            "data_type: 7 int64_data: [0, 0] " +
                            indices + " } node { name: \"n\" op_type: \"" + op +
                            "\" input: \"x\" input: \"i\" output: \"y\" }"));
  };
  EXPECT_EQ(messageFor("Gather", "dims: 2"),
            "error: node \"n\" (Gather): graph.gather: 0x3xf32 has no elements "
            "to make 2x3xf32 of");
  EXPECT_EQ(messageFor("GatherElements", "dims: [2, 1]"),
            "error: node \"n\" (GatherElements): graph.gather_elements: "
            "0x3xf32 has no elements to make 2x1xf32 of");
  EXPECT_EQ(messageFor("GatherND", "dims: [2, 1]"),
            "error: node \"n\" (GatherND): graph.gather_nd: 0x3xf32 has no "
            "elements to make 2x3xf32 of");
}

} // namespace
