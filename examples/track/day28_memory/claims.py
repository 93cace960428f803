doc = "Memory of attention over the number of tokens"


def slope(rows):
    """Of log peak bytes over log M, by least squares."""
    x = [log(row["case"]["M"]) for row in rows]
    y = [log(row["peak_bytes"]) for row in rows]
    mx, my = sum(x) / len(x), sum(y) / len(y)
    return sum([(a - mx) * (b - my) for a, b in zip(x, y)]) / sum([(a - mx) ** 2 for a in x])


def claims(device):
    sizes = (512, 1024, 2048, 4096, 8192, 16384) if device == "cuda" else (512, 1024, 2048)
    rows = lambda variant: [dict(folder=".", variant=variant, case=dict(H=1, M=n, D=16)) for n in sizes]
    return [
        dict(name="flash", claim="flash attention's memory grows with n", most=1.05, timed=False, rows=dict(rows=rows("flash")), figure=slope),
        dict(name="standard", claim="standard attention's memory grows with n squared", least=1.95, timed=False, rows=dict(rows=rows("standard")), figure=slope),
    ]
