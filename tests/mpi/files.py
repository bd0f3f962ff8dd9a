"""Files of the tests of ranks. Needs the standard library alone."""

import json
import struct


def npy(values, shape):
    """The bytes of a .npy file of f32."""
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    data = struct.pack(f"<{len(values)}f", *values)
    prefix = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118)
    return prefix + (header.ljust(117) + "\n").encode() + data


def safetensors(**tensors):
    """The bytes of a .safetensors file of f32 tensors, each a shape and values."""
    header, data = {}, b""
    for name, (shape, values) in tensors.items():
        begin = len(data)
        data += struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": shape}
        header[name]["data_offsets"] = [begin, len(data)]
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_state(path):
    """Metadata and shape and bytes of each tensor of a .safetensors file."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        tensors[name] = entry["shape"], data[8 + length + begin : 8 + length + end]
    return metadata, tensors


def floats(data):
    return struct.unpack(f"<{len(data) // 4}f", data)
