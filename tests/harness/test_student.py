from __future__ import annotations

import pytest

from benchmarks.verdict.statistics.student_t import critical


@pytest.mark.parametrize(
    ("confidence", "degrees", "expected"),
    [
        # From the tables of any textbook.
        (0.95, 1, 12.7062),
        (0.95, 2, 4.3027),
        (0.95, 3, 3.1824),
        (0.95, 10, 2.2281),
        (0.99, 4, 4.6041),
        (0.99, 7, 3.4995),
        (0.95, 1000, 1.9623),
    ],
)
def test_quantiles_are_those_of_the_tables(
    confidence: float, degrees: int, expected: float
) -> None:
    assert critical(confidence, degrees) == pytest.approx(expected, abs=1e-4)


def test_no_degree_of_freedom_has_no_quantile() -> None:
    with pytest.raises(ValueError, match="0 degrees"):
        critical(0.95, 0)
