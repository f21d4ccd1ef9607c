"""What must be true after a storm: nothing acknowledged is lost, nothing counts twice, everything is done."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import text

from genbayes.campaign import Campaign
from genbayes.campaign.database import Database

RESULTS = "SELECT t.number, r.* FROM genbayes_results r JOIN genbayes_trials t ON t.id = r.trial_id"


@dataclass(frozen=True)
class Verdict:
    """How a campaign came through a storm.

    Attributes:
        n_acknowledged: Results whose `tell` returned.
        n_lost: Those of them that the database does not have, or has with another fate than was answered.
        n_twice: Trials of which more than one result counts, and tells that are there twice.
        n_undone: Trials that are not done at the end.
        n_repeats: Second results of a trial, kept beside the one that counts.
        damage: What the database itself says is wrong with it.
    """

    n_acknowledged: int
    n_lost: int
    n_twice: int
    n_undone: int
    n_repeats: int
    damage: list[str] = field(default_factory=list)

    @property
    def held(self) -> bool:
        """Whether every promise was kept."""
        return not (self.n_lost or self.n_twice or self.n_undone or self.damage)


def read_lines(file: Path) -> list[dict]:
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def judge(url: str, folder: Path, n_trials: int) -> Verdict:
    """Compare what workers were told with what the database has."""
    frame = Campaign.open(url, "storm").to_frame()
    database = Database(url)
    rows = database.read(lambda connection: connection.execute(text(RESULTS)).all())
    counted = Counter(row.number for row in rows if row.counted)
    kept = {(row.number, row.lease_id, row.y): bool(row.counted) for row in rows}
    acknowledged, lost = read_lines(folder / "acknowledged"), 0
    for line in acknowledged:  # every acknowledged tell is there, as it was answered
        found = kept.get((line["number"], line["lease"], line["y"]))
        lost += found is None or not (found == (line["outcome"] != "repeat") or line["outcome"] == "again")
    damage = []
    if database.file is not None:
        said = database.read(lambda connection: connection.execute(text("PRAGMA integrity_check")).scalars().all())
        damage = [line for line in said if line != "ok"]
    return Verdict(
        n_acknowledged=len(acknowledged),
        n_lost=lost,
        n_twice=sum(n > 1 for n in counted.values()) + len(rows) - len(kept),
        n_undone=n_trials - int((frame["state"] == "done").sum()) + sum(n not in counted for n in frame["number"]),
        n_repeats=sum(not row.counted for row in rows),
        damage=damage,
    )
