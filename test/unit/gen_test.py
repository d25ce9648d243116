# SPDX-License-Identifier: MIT
"""The generators under gen/: rows that are wrong are refused, the status column is kept right, outputs agree."""
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
sys.path.insert(0, str(ROOT / "gen"))

import coverage  # noqa: E402
import exports  # noqa: E402
import mapfile  # noqa: E402
import names  # noqa: E402
import options  # noqa: E402
import proc  # noqa: E402
import status  # noqa: E402
import tables  # noqa: E402

HEADERS = [ROOT / "include/polywarp" / h for h in ("cuda_enums.h", "cuda_types.h", "cuda_interop.h")]
TABLE = ROOT / "api/cuda.tab"
GOOD = ("cuAdd | cuAdd | 2000 | plain | stub | init | out int *sum, flags unsigned f, str const char *s\n"
        "cuAdd_v2 | cuAdd | 3020 | plain | stub | init |\n"
        "cuAdd_v2_ptsz | cuAdd | 7000 | ptsz | stub | init | =\n")


def load(text, loader=tables.load_calls):
    with tempfile.NamedTemporaryFile("w", suffix=".tab") as f:
        f.write(text)
        f.flush()
        return loader(f.name)


class CudaTable(unittest.TestCase):
    def test_good(self):
        calls = load(GOOD)
        self.assertEqual([c.symbol for c in calls], ["cuAdd", "cuAdd_v2", "cuAdd_v2_ptsz"])
        self.assertEqual([(p.kind, p.type, p.name) for p in calls[0].params],
                         [("out", "int *", "sum"), ("flags", "unsigned", "f"),
                          ("str", "const char *", "s")])
        self.assertEqual([c.version for c in calls], [1, 2, 2])
        self.assertIs(calls[2].plain, calls[1])

    def test_bad_rows(self):
        bad = [
            ("plain | stub | init | out int *sum", "plain | stub | init | out int sum"),
            ("| 2000 |", "| two |"),
            ("cuAdd_v2 | cuAdd |", "cuAdd_v2 | cuSub |"),
            ("| ptsz | stub | init | =", "| ptds | stub | init | ="),
            ("| ptsz | stub | init | =", "| ptsz | stub | init | int a"),
            ("| ptsz | stub |", "| ptsz | done |"),
            ("| 3020 |", "| 2000 |"),
            ("cuAdd | cuAdd | 2000 | plain | stub", "cuAdd | cuAdd | 2000 | plain | maybe"),
            ("| init |\n", "| later |\n"),
            ("cuAdd_v2 |", "cuAdd |"),
            (" | out int *sum", ""),
        ]
        for old, new in bad:
            with self.subTest(new=new):
                self.assertIn(old, GOOD)
                self.assertRaises(tables.TableError, load, GOOD.replace(old, new, 1))

    def test_parameters(self):
        for text, want in [("size_t n", ("val", "size_t", "n")),
                           ("ptr const void *p", ("ptr", "const void *", "p")),
                           ("out void **pp", ("out", "void **", "pp")),
                           ("unsigned long long x", ("val", "unsigned long long", "x")),
                           ("struct CUmemLocation l", ("struct", "CUmemLocation", "l"))]:
            p = tables.parse_param(text)
            self.assertEqual((p.kind, p.type, p.name), want)
        for text in ("int", "char *s", "out int x", "str int x", ""):
            self.assertIsNone(tables.parse_param(text))


class Status(unittest.TestCase):
    def test_update(self):
        have = status.defined("a.o:0000 T pw_cuAdd_v2\nb.o:00 t pw_cuHidden\n         U pw_cuAdd\n")
        self.assertEqual(have, {"cuAdd_v2", "cuHidden"})
        text, changed = status.update("# note\n" + GOOD, load(GOOD), have)
        self.assertEqual(changed, [("cuAdd_v2", "done"), ("cuAdd_v2_ptsz", "done")])
        again = load(text)
        self.assertEqual([c.status for c in again], ["stub", "done", "done"])
        back, changed = status.update(text, again, set())
        self.assertEqual(back, "# note\n" + GOOD)


class Outputs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.calls = tables.load_calls(TABLE)
        cls.types = tables.load_types(HEADERS)

    def test_every_symbol_once(self):
        script, source = mapfile.generate(self.calls), exports.generate(self.calls, self.types)
        for c in self.calls:
            self.assertEqual(script.count(f"    {c.symbol};\n"), 1)
            self.assertEqual(source.count(f"\n{c.symbol}("), 1)
        for text in (script, source):
            self.assertIn("api/cuda.tab", text.split("\n", 1)[0])

    def test_per_thread(self):
        source = exports.generate(load(GOOD.replace("stub", "done")), self.types)
        body = source[source.index("\ncuAdd_v2_ptsz("):]
        self.assertIn("tls.per_thread_stream = true;", body)
        self.assertIn("tls.per_thread_stream = outer;", body)
        self.assertIn("do_cuAdd_v2()", body)

    def test_proc_order(self):
        forms = [(c.base.encode(), c.form != "plain", c.since) for c in proc.ordered(self.calls)]
        self.assertEqual(forms, sorted(forms))

    def test_errors(self):
        errors = tables.load_errors(ROOT / "api/errors.tab", self.types)
        self.assertEqual(errors[0], ("CUDA_SUCCESS", 0, "no error"))
        self.assertIn('{700, "CUDA_ERROR_ILLEGAL_ADDRESS", ', names.generate(errors, self.types))

    def test_enum_aliases(self):
        self.assertEqual(names.unique([("A", 1), ("B", 0), ("C", 1)]), [(0, "B"), (1, "A")])

    def test_unknown_type(self):
        table = load("cuAdd | cuAdd | 2000 | plain | stub | init | Strange s\n")
        self.assertRaises(tables.TableError, exports.generate, table, self.types)

    def test_options(self):
        opts = tables.load_options(ROOT / "api/options.tab")
        self.assertIn("    OPT_DEVICE,\n", options.enum(opts))
        self.assertIn("POLYWARP_LOG", options.page(opts))
        self.assertRaises(tables.TableError, load, "A | POLYWARP_B | x | y | help\n",
                          tables.load_options)

    def test_coverage(self):
        page = coverage.generate(load(GOOD.replace("stub", "done", 1)))
        self.assertIn("1 of 3 exported symbols", page)
        self.assertIn("| cuAdd | v1 (2.0), v2 (3.2) | in part: cuAdd |", page)


if __name__ == "__main__":
    unittest.main()
