"""Measurements that anyone can repeat; the problems themselves are in genbayes_bench."""
