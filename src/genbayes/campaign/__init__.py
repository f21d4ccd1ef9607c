"""Campaigns: the books of an experiment, trials, leases and workers; nothing that was acknowledged is lost.

A campaign needs no model until it proposes runs.
"""

from genbayes.campaign.campaign import Campaign
from genbayes.campaign.proposer_registry import register_proposer, registered_proposers
from genbayes.campaign.running import Tally
from genbayes.campaign.trial import Settings, Status, Trial

__all__ = ["Campaign", "Settings", "Status", "Tally", "Trial", "register_proposer", "registered_proposers"]
