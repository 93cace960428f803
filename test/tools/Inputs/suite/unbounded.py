def claims(device):
    return [dict(name="one", claim="no bound", rows=dict(row=dict(measure="graph")), figure=lambda row: 1)]
