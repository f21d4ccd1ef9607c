"""How tests/data/campaign_format_2.db was made, once; kept to show what it holds. Never run it again for format 2."""

import sqlite3
import time
import warnings
from pathlib import Path

from genbayes import Box, Campaign
from genbayes.data import Choice, Integer, Log
from genbayes.errors import RepeatKept

FILE = Path(__file__).with_name("campaign_format_2.db")


def main() -> None:
    FILE.unlink(missing_ok=True)
    space = Box({"mach": (0.2, 6.0), "rate": Log(1e-3, 1.0), "stages": Integer(1, 8), "gas": Choice("He", "O2")})
    campaign = Campaign.create(
        f"sqlite:///{FILE}", "rocket", space, n_initial=6, budget=12, random_state=7, responses=["drag", "lift"]
    )
    trials = campaign.ask(5, worker="node1:17")
    campaign.tell(trials[0], [0.25, 3.0])
    campaign.tell(trials[1], {"lift": 0.1 + 0.2, "drag": -1.5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepeatKept)
        campaign.tell(trials[1], [-1.5, 0.4])  # kept as a repeat
    campaign.fail(trials[2], "diverged")
    campaign.release(trials[3])  # open again
    campaign.ask(worker="node2:4", lease_seconds=0.01)  # trial 4 lapses; trial 5 runs for a day
    time.sleep(0.05)
    campaign.add([{"mach": 1.0, "rate": 0.1, "stages": 2, "gas": "He"}])
    with sqlite3.connect(FILE) as connection:  # one small file
        connection.execute("PRAGMA journal_mode=DELETE")
        connection.execute("PRAGMA page_size=1024")
    connection.execute("VACUUM")
    connection.close()


if __name__ == "__main__":
    main()
