"""How campaign_format_1.db and campaign_format_2.db were made, each once, by the genbayes of its time.

Kept to show what they hold. Never run it again for a format that is there.
"""

import sqlite3
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

from genbayes import Box, Campaign
from genbayes.data import Choice, Integer, Log
from genbayes.errors import RepeatKept

SPACE = Box({"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "stages": Integer(1, 8), "gas": Choice("He", "O2")})
RESULTS = {1: [0.25, -1.5, -1.25], 2: [[0.25, 3.0], {"lift": 0.1 + 0.2, "drag": -1.5}, [-1.5, 0.4]]}
SETTINGS = {1: {}, 2: {"responses": ["drag", "lift"]}}


def make(file: Path, results: Sequence[object], **settings: object) -> None:
    campaign = Campaign.create(f"sqlite:///{file}", "rocket", SPACE, n_initial=6, budget=12, random_state=7, **settings)
    trials = campaign.ask(5, worker="node1:17")
    campaign.tell(trials[0], results[0])
    campaign.tell(trials[1], results[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatKept)
        campaign.tell(trials[1], results[2])  # kept as a repeat
    campaign.fail(trials[2], "diverged")
    campaign.release(trials[3])  # open again
    campaign.ask(worker="node2:4", lease_seconds=0.01)  # trial 4 lapses; trial 5 runs for a day
    time.sleep(0.05)
    campaign.add([{"mach": 1.0, "rate": 0.1, "stages": 2, "gas": "He"}])
    with sqlite3.connect(file) as connection:  # one small file
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA page_size=1024")
    connection.execute("VACUUM")
    connection.close()


if __name__ == "__main__":
    for version, results in RESULTS.items():
        file = Path(__file__).with_name(f"campaign_format_{version}.db")
        if not file.exists():
            make(file, results, **SETTINGS[version])
