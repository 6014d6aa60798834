"""Damaged files of programs: each is a named error or a program that is consistent."""

import io
import json
import random

import pytest
from network import XS, W, loss, reloaded

import polyad as pa
from polyad.dsl.ir.programs import Program, check


def parts():
    file = io.BytesIO()
    pa.make_ir(loss)(W, XS).save(file)
    data = file.getvalue()
    size = int.from_bytes(data[8:16], "little")
    return json.loads(data[16 : 16 + size]), data[16 + size :]


def packed(header, raw, magic=b"polyad\n1"):
    text = json.dumps(header).encode()
    return magic + len(text).to_bytes(8, "little") + text + raw


def damage(change):
    header, raw = parts()
    changed = change(header, raw)
    return packed(header, raw) if changed is None else changed


def first_step(header):
    return header["programs"][0]["steps"][0]


@pytest.mark.parametrize(("data", "text"), [
    (b"", "does not begin as a file of a program"),
    (b"PK\x03\x04 a zip file", "does not begin"),
    (packed({}, b""), "programs"),
    (packed({}, b"", b"polyad\n2"), "does not begin as a file of a program .of this version"),
    (packed([1], b""), ""),
    (b"polyad\n1" + (1 << 60).to_bytes(8, "little") + b"{}", "its header is cut off"),
    (b"polyad\n1" + (4).to_bytes(8, "little") + b"\xff\xfe{}", ""),
    (b"polyad\n1" + (200000).to_bytes(8, "little") + b"[" * 200000, ""),
    (damage(lambda h, raw: packed(h, raw[:-1])), "its arrays do not follow|more in it"),
    (damage(lambda h, raw: packed(h, raw + b"0")), "there is more in it than its arrays"),
    (damage(lambda h, raw: h["arrays"][0].__setitem__(0, "|O")), "a dtype is none of numbers"),
    (damage(lambda h, raw: h["arrays"][0].__setitem__(1, [10**9, 10**9])), "an array is not as long as its shape says"),
    (damage(lambda h, raw: h["arrays"][0].__setitem__(1, [-2])), "a shape is none"),
    (damage(lambda h, raw: first_step(h).__setitem__(0, "os.system")), "an operation 'os.system', which this version does not"),
    (damage(lambda h, raw: first_step(h).__setitem__(0, ["os", "system"])), "the operation system of the module os: import"),
    (damage(lambda h, raw: first_step(h).__setitem__(1, [999])), "reads a value that is not there"),
    (damage(lambda h, raw: first_step(h).__setitem__(1, [["float", "zero"]])), ""),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("spec", ["object", "Popen", "ls"])), ""),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("other", 1)), "parameter"),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("constants", ["int", "9"])), ""),
    (damage(lambda h, raw: first_step(h)[2].pop("body") and None), "lacks a parameter"),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("body", ["program", 99])), "it names what is not in it"),
    (damage(lambda h, raw: first_step(h)[2].__setitem__("body", ["program", 0])), ""),
    (damage(lambda h, raw: first_step(h)[3][0].__setitem__(0, ["<f8", [7]])), "gives"),
    (damage(lambda h, raw: h["programs"][0].__setitem__("outputs", [0, 0])), "trees do not fit"),
    (damage(lambda h, raw: h["programs"][0]["trees"].__setitem__(1, ["tuple", 0, 0])), "trees do not fit"),
    (damage(lambda h, raw: h["programs"][0]["trees"].__setitem__(1, ["Popen", 0])), ""),
])  # fmt: skip
def test_damaged_files(data, text):
    with pytest.raises(pa.StructureError, match=f"load: the file holds no program that can be run: .*{text}"):
        Program.load(io.BytesIO(data))


def test_any_damage_is_an_error_or_a_program():
    """Never another exception, and what is loaded is consistent."""
    header, raw = parts()
    data, choose = packed(header, raw), random.Random(3)
    refused = 0
    for _ in range(400):
        changed, place = bytearray(data), choose.randrange(len(data))
        kind = choose.randrange(3)
        if kind == 0:
            changed[place] = choose.choice(b'0123456789[]{}",:-abdefilnorstu ')
        elif kind == 1:
            del changed[place : place + choose.randrange(1, 9)]
        else:
            changed[place:place] = choose.choice([b"9", b'"', b"[", b"null,"])
        try:
            check(Program.load(io.BytesIO(bytes(changed))))
        except pa.StructureError:
            refused += 1
    assert refused > 300


def test_text_that_looks_into_objects_is_refused():
    program = pa.make_ir(lambda x: (pa.debug_print("{}", x), x)[1])(1.0)
    e = next(e for e in program.equations if "f" in e.params)
    e.params["f"].text = "{0.__class__}"
    with pytest.raises(pa.StructureError, match="looks into objects"):
        reloaded(program)


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        Program.load(tmp_path / "none")
