import ast
import unittest
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "holdfast"


class Typed(unittest.TestCase):
    def test_every_argument_and_every_result_has_a_type(self):
        missing = []
        for file in sorted(PACKAGE.glob("*.py")):
            for node in ast.walk(ast.parse(file.read_text())):
                if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    continue
                given = node.args
                arguments = [*given.posonlyargs, *given.args, *given.kwonlyargs]
                arguments += [each for each in (given.vararg, given.kwarg) if each]
                untyped = [each.arg for each in arguments if each.annotation is None]
                untyped = [name for name in untyped if name != "self"]
                if untyped or node.returns is None:
                    missing.append(f"{file.name}:{node.lineno} {node.name} {untyped}")
        self.assertEqual(missing, [])
        self.assertTrue((PACKAGE / "py.typed").exists())


if __name__ == "__main__":
    unittest.main()
