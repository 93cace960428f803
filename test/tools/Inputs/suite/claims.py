folder = "../../../../examples/track/day10_reductions"


def claims(device):
    sums = lambda variant: dict(folder=folder, variant=variant, case=dict(n=5000))
    return [
        dict(name="launches", claim="two launches beside one", unit="x", least=2, most=2, timed=False,
             rows=dict(one=sums("one_program"), two=sums("two_launches")), figure=lambda one, two: two["launches"] / one["launches"]),
        dict(name="list", claim=f"rows of a list on {device}", least=3, timed=False,
             rows=dict(rows=[dict(folder=folder, variant="one_program", case=dict(n=n)) for n in (10, 20, 30)]),
             figure=lambda rows: len(rows) if rows[2]["case"]["n"] == 30 else 0),
        dict(name="width", claim="four values a thread", unit=" bytes", least=16, timed=False,
             rows=dict(facts=dict(inspect="../../../../examples/track/day07_coalescing/kernel.py:neighbours --target sm_90a --signature *fp32:16,*fp32:16,i32:16,1024")),
             figure=lambda facts: facts["accesses"][0]["bytes"]),
        dict(name="graph", claim="a graph of five kernels", least=5, most=5, timed=False,
             rows=dict(graph=dict(measure="graph", case=dict(count=5))), figure=lambda graph: graph["launches"]),
    ]
