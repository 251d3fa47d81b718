"""Is the rollout of a workload done?"""
