import numpy as np
from nereid.reference import erf as error_function


def by_series(x, value, series):
    # In f64 too the plain formula loses digits near 0: there the first terms of the series are exact enough.
    return np.where(np.abs(x) < 1e-4, series, value)


def reference(x):
    return dict(
        log1p=by_series(x, np.log(1 + x), x - x ** 2 / 2 + x ** 3 / 3),
        expm1=by_series(x, np.exp(x) - 1, x + x ** 2 / 2 + x ** 3 / 6),
        erf=error_function(x),
        hypot=np.sqrt(x ** 2 + (1 + x) ** 2),
    )
