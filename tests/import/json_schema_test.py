"""The JSON Schema of the graph format accepts what the documentation shows and
refuses what the importer refuses.   usage: json_schema_test.py SOURCE_DIR"""
import copy
import glob
import json
import os
import re
import sys

import jsonschema

source = sys.argv[1]
with open(os.path.join(source, "compiler/Import/json/graph.schema.json")) as f:
    schema = json.load(f)
jsonschema.Draft202012Validator.check_schema(schema)
validator = jsonschema.Draft202012Validator(schema)

with open(os.path.join(source, "docs/json-format.md")) as f:
    blocks = re.findall(r"```json\n(.*?)```", f.read(), re.S)
graph = json.loads(blocks[0])
validator.validate(graph)

# The shorter examples are weights or nodes, one after another, or a key.
decoder = json.JSONDecoder()
pieces = 0
for block in blocks[1:]:
    at = 0
    while at < len(block.rstrip()):
        piece, at = decoder.raw_decode(block, at)
        while at < len(block) and block[at].isspace():
            at += 1
        whole = copy.deepcopy(graph)
        if "training" in piece:
            whole.update(piece)
        else:
            whole["nodes" if "op" in piece else "weights"].append(piece)
        validator.validate(whole)
        pieces += 1
assert pieces >= 8, f"found only {pieces} examples"

models = glob.glob(os.path.join(source, "examples/json/*.json"))
assert models, "there are no examples"
for model in models:
    with open(model) as f:
        validator.validate(json.load(f))


def change(**changes):
    other = copy.deepcopy(graph)
    other.update(changes)
    return other


bad = {
    "version": change(tinh=2),
    "no version": {k: v for k, v in graph.items() if k != "tinh"},
    "unknown key": change(weight=[]),
    "no outputs": change(outputs=[]),
    "dtype": change(inputs=[{"name": "x", "dtype": "float", "shape": [1]}]),
    "negative extent": change(inputs=[{"name": "x", "dtype": "f32", "shape": [-1]}]),
    "data and file": change(weights=[{"name": "w", "dtype": "f32", "shape": [],
                                      "data": 1, "file": "f", "tensor": "t"}]),
    "two outputs": change(nodes=[{"op": "relu", "inputs": ["x"], "outputs": ["a", "b"]}]),
    "attribute": change(nodes=[{"op": "relu", "inputs": ["x"], "outputs": ["y"],
                                "attributes": {"a": {"b": 1}}}]),
    "if without else": change(nodes=[{"op": "if", "inputs": ["x"], "outputs": ["y"],
                                      "then": {"nodes": [], "outputs": ["x"]}}]),
    "relu with a body": change(nodes=[{"op": "relu", "inputs": ["x"], "outputs": ["y"],
                                       "body": {"inputs": [], "nodes": [], "outputs": []}}]),
    "loss without a name": change(training={"loss": {"delta": 1}}),
    "loss by name alone": change(training={"loss": "mse"}),
    "patterns": change(training={"trainable": "fc*"}),
    "scan without a length": change(nodes=[{
        "op": "scan", "inputs": ["x"], "outputs": ["y"], "attributes": {"carry": 1},
        "body": {"inputs": ["i", "a"], "nodes": [], "outputs": ["a"]}}]),
}
for name, value in bad.items():
    assert not validator.is_valid(value), f"the schema accepts: {name}"
print(f"{1 + pieces + len(models)} examples accepted, {len(bad)} mistakes refused")
