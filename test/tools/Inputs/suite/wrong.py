def claims(device):
    return [dict(name="one", claim="a field that there is not", leats=1, rows=dict(row=dict(measure="graph")), figure=lambda row: 1)]
