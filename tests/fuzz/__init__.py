"""Every pure core under bytes that nobody planned: `python -m tests.fuzz --seconds 20 [NAME …]`.

A harness takes bytes, and raises nothing but AssertionError, where its core breaks what it promises: it raises only
what its docstring says, and what it reads does not depend on where a read was cut. With atheris installed
(`pip install atheris`) the inputs follow the coverage of `rawkube`; without it they are seeds, changed at random.
"""
