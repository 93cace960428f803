"""What the writers of measured tables share."""


def by_peer(row, name):
    """The peer's time over ours, above 1 where ours is faster; None if it was not measured."""
    times = [peer["seconds"] for peer in row.get("peers") or [] if peer["name"] == name and peer.get("seconds")]
    return min(times) / row["seconds"] if times else None
