"""Talking to a Ray cluster from a laptop: what travels, jobs by HTTP, and what is tried on each kind of node."""
