folder = "../../../../examples/track/day10_reductions"


def claims(device):
    row = dict(folder=folder, variant="one_program", case=dict(n=5000))
    wrong = lambda name, row, figure=lambda row: 1: dict(name=name, claim=name, most=1, timed=False, rows=dict(row=row), figure=figure)
    return [
        wrong("missed", row, lambda row: 2),
        wrong("variant", dict(folder=folder, variant="tow_launches", case=dict(n=5000))),
        wrong("case", dict(folder=folder, variant="one_program", case=dict(m=5000))),
        wrong("measure", dict(measure="grahp")),
        wrong("figure", row, lambda row: row["secnods"]),
        wrong("infinite", row, lambda row: inf),
        wrong("holds", row),
    ]
