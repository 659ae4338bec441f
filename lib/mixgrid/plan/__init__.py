"""manifest + corpora + store → runs, requests, and what is still pending. The plan is data; it spends nothing."""
