#!/usr/bin/env python3
"""Tests scripts/hf_loss.py without torch and transformers: the formats of token files, and that the
model is asked for in fp32 by the name that each version of transformers knows."""
import os
import pathlib
import struct
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "scripts"))
import hf_loss  # pylint: disable=wrong-import-position

TOKENS = [5, 0, 65535, 7]


class ReadTokens(unittest.TestCase):
    """Files spelled out by docs/data.md."""

    def read(self, content):
        """The tokens of a file of these bytes."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tokens.bin")
            pathlib.Path(path).write_bytes(content)
            return list(hf_loss.read_tokens(path))

    def test_raw(self):
        self.assertEqual(self.read(struct.pack("<4H", *TOKENS)), TOKENS)

    def test_llmc(self):
        for magic, version, kind in ((20240520, 1, "H"), (20240801, 7, "I")):
            head = struct.pack("<III", magic, version, 4).ljust(1024, b"\0")
            self.assertEqual(self.read(head + struct.pack(f"<4{kind}", *TOKENS)), TOKENS)

    def test_own(self):
        for width, kind in ((2, "H"), (4, "I")):
            head = b"\xff\xffDLTOK\n" + struct.pack("<IIQQII", 1, width, 70000, 4, 0, 0)
            self.assertEqual(self.read(head.ljust(64, b"\0") + struct.pack(f"<4{kind}", *TOKENS)),
                             TOKENS)

    def test_what_does_not_fit_its_header(self):
        head = struct.pack("<III", 20240520, 1, 5).ljust(1024, b"\0")
        for content in (head + struct.pack("<4H", *TOKENS), b"abc"):
            with self.assertRaises(SystemExit):
                self.read(content)


class LoadModel(unittest.TestCase):
    """With stand-ins for both packages."""

    def asked_for(self, version):
        """What from_pretrained() of this version is given."""
        given = {}

        class Llama:
            """Stands for transformers.LlamaForCausalLM."""

            @classmethod
            def from_pretrained(cls, folder, **options):
                given.update(options, folder=folder)
                return cls()

            def eval(self):
                return self

        sys.modules["torch"] = types.SimpleNamespace(float32="fp32")
        sys.modules["transformers"] = types.SimpleNamespace(__version__=version,
                                                            LlamaForCausalLM=Llama)
        try:
            hf_loss.load_model("folder")
        finally:
            del sys.modules["torch"], sys.modules["transformers"]
        return given

    def test_fp32_in_every_version(self):
        for version, name in (("4.36.2", "torch_dtype"), ("4.57.6", "dtype"), ("5.24.0", "dtype"),
                              ("5.0.0.dev0", "dtype")):
            self.assertEqual(self.asked_for(version), {"folder": "folder", name: "fp32"})


if __name__ == "__main__":
    unittest.main()
