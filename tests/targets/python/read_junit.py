"""Reads JUnit XML with a library that is not ours, and prints what it understood as JSON.

usage: read_junit.py REPORT.xml
"""

import json
import sys

from junitparser import Error, Failure, JUnitXml, Skipped


def main():
    report = JUnitXml.fromfile(sys.argv[1])
    suites = []
    for suite in report:
        results = [result for case in suite for result in case.result]
        kinds = {"failures": Failure, "errors": Error, "skipped": Skipped}
        seen = {name: sum(isinstance(one, kind) for one in results) for name, kind in kinds.items()}
        said = {name: getattr(suite, name) for name in ("tests", "failures", "errors", "skipped")}
        if said != {"tests": len(list(suite)), **seen}:
            sys.exit(f"suite {suite.name} says {said} and holds {len(list(suite))} cases with {seen}")
        failures = [result for result in results if isinstance(result, Failure)]
        cases = [f"{case.classname} {case.name}" for case in suite]
        if len(set(cases)) != len(cases):
            sys.exit(f"suite {suite.name} names a case twice")
        suites.append(
            {"name": suite.name, **said, "timestamp": suite.timestamp}
            | {"failed": [{"type": one.type, "message": one.message, "text": one.text} for one in failures]}
        )
    totals = {name: getattr(report, name) for name in ("tests", "failures", "errors", "skipped")}
    print(json.dumps({**totals, "suites": suites}))


if __name__ == "__main__":
    main()
